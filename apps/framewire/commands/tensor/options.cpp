#include <fmt/format.h>
#include <command_line/lists.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/tensor/options.hpp>
#include <limits>

namespace framewire::app {
namespace {

constexpr OptionSpec kTensorOwn[] = {
    {"size", "WxH", "", "224x224", "width and height of every image of the batch", "Picture"},
    {"crop", "CROP", "", "none",
     "what is resized: none, the whole picture; center, the largest part in the middle that has "
     "the "
     "shape of --size; random, torchvision's RandomResizedCrop; or LEFT,TOP,WIDTH,HEIGHT in pixels",
     "Picture"},
    {"flip", "WHICH", "none|random|always", "none", "exchange left and right", "Picture"},
    {"seed", "N", "", "0", "of random crops and flips", "Picture"},
    {"epoch", "N", "", "0", "draws other crops and flips for the same seed", "Picture"},
    {"interpolation", "KERNEL", "bilinear|bicubic|lanczos3|area", "bilinear", "resampling kernel",
     "Picture"},
    {"no-antialias", "", "", "",
     "do not stretch the kernel where the crop shrinks: bilinear and bicubic as "
     "torch.nn.functional.interpolate",
     "Picture"},
    {"fidelity", "WHICH", "exact|fast", "exact",
     "exact: as Pillow; fast: planes are filtered before colours are converted", "Picture"},
    {"exif", "", "", "", "show pictures as their EXIF orientation says", "Picture"},
    {"dtype", "TYPE", "uint8|float16|bfloat16|float32", "float32", "type of an element", "Tensor"},
    {"layout", "ORDER", "NCHW|NHWC", "NCHW", "order of the batch's indices", "Tensor"},
    {"channels", "WHICH", "rgb|bgr|gray|ycbcr", "rgb", "channels, in their order", "Tensor"},
    {"mean", "LIST", "", "",
     "subtracted from samples between 0 and 1: a number, or one a channel, joined by commas",
     "Tensor"},
    {"std", "LIST", "", "", "divides what is left, likewise", "Tensor"},
    {"batch", "N", "", "256", "images of one batch", "Tensor"},
    {"device", "N", "", "", "the GPU that makes batches, a CUDA ordinal; the CPU, if not given",
     "Tensor"},
    {"jobs", "N", "", "", "threads that decode; as many as cores, if not given", "Tensor"},
    {"files-from", "LIST", "", "", "read input names from a file, one a line; - is standard input",
     "Tensor"},
    {"out", "FILE", "", "",
     "write all images as one NumPy array (.npy), and what each row is as lines of JSON, to the "
     "same "
     "name with .jsonl",
     "Output"},
    {"bench", "", "", "", "decode all inputs from memory, again and again, and say how fast",
     "Output"},
    {"seconds", "S", "", "3", "how long --bench goes on", "Output"},
    {"under-way", "N", "", "1",
     "with --bench and --device: batches that are begun before the first of them is waited for; "
     "above 1 all time counts, not that of the calls alone",
     "Output"},
    {"json", "", "", "", "print a report as JSON on standard output", "Output"},
    {"quiet", "", "", "", "print errors only", "Output"}};

constexpr std::string_view kTensorDetails =
    "Decodes, crops, resizes and normalises pictures as training frameworks do: what a DataLoader "
    "would hand to a model, made in one call. Images that cannot be decoded become zeros. IN is a "
    "folder, several files, or @LIST; samples are numbered in that order, and a sample's random "
    "crop "
    "depends on --seed, --epoch and its number alone.";

template <typename Enum>
struct NamedValue {
  std::string_view text;
  Enum value;
};

/// The value of a word that is_choice() has let through.
template <typename Enum, std::size_t N>
Enum value_of(std::string_view text, const NamedValue<Enum> (&words)[N]) {
  for (const NamedValue<Enum>& word : words) {
    if (word.text == text) return word.value;
  }
  return words[0].value;
}

tl::unexpected<Status> wrong(std::string_view option, std::string_view found,
                             std::string_view accepted) {
  return misuse(fmt::format("--{}: found '{}'; accepted: {}", option, found, accepted));
}

Result<void> take_size(const Arguments& arguments, TensorOptions& options) {
  const std::string text = arguments.get("size");
  const std::size_t x = text.find('x');
  constexpr auto kMaxSide = std::numeric_limits<std::int32_t>::max();
  if (x == std::string::npos ||
      !parse_number(std::string_view(text).substr(0, x), 1, kMaxSide, options.width_px) ||
      !parse_number(std::string_view(text).substr(x + 1), 1, kMaxSide, options.height_px)) {
    return wrong("size", text, "WIDTHxHEIGHT, such as 224x224");
  }
  return {};
}

Result<void> take_crop(const Arguments& arguments, TensorPlan& plan) {
  const std::string text = arguments.get("crop");
  if (text == "none") return {};
  if (text == "center" || text == "random") {
    plan.crop = text == "center" ? CropChoice::kCenter : CropChoice::kRandom;
    return {};
  }
  plan.crop = CropChoice::kBox;
  const auto parts = split_at_commas(text);
  std::int32_t* const sides[] = {&plan.box.left_px, &plan.box.top_px, &plan.box.width_px,
                                 &plan.box.height_px};
  bool good = parts.size() == 4;
  for (std::size_t i = 0; good && i < 4; ++i) good = parse_number(parts[i], *sides[i]);
  if (!good) return wrong("crop", text, "none, center, random, or LEFT,TOP,WIDTH,HEIGHT");
  return {};
}

/// One number for all channels, or one for each.
/// @param accepted  which numbers
Result<void> take_per_channel(const Arguments& arguments, std::string_view name,
                              std::string_view accepted, std::size_t count,
                              std::array<float, 3>& out) {
  if (!arguments.has(name)) return {};
  const auto parts = split_at_commas(arguments.get(name));
  bool good = parts.size() == 1 || parts.size() == count;
  for (std::size_t c = 0; good && c < count; ++c) {
    good = parse_number(parts[parts.size() == 1 ? 0 : c], out[c]);
  }
  if (!good) {
    return wrong(name, arguments.get(name),
                 count == 1 ? std::string(accepted)
                            : fmt::format("{}, or {}, joined by commas", accepted, count));
  }
  return {};
}

template <typename Number>
Result<void> take_number(const Arguments& arguments, std::string_view name, Number low, Number high,
                         Number& out) {
  const std::string text = arguments.get(name);
  if (!parse_number(text, low, high, out)) {
    return wrong(name, text, fmt::format("{} to {}", low, high));
  }
  return {};
}

Result<void> take_numbers(const Arguments& arguments, TensorPlan& plan) {
  using Numbers32 = std::numeric_limits<std::uint32_t>;
  using Numbers64 = std::numeric_limits<std::uint64_t>;
  if (auto ok = take_number(arguments, "seed", Numbers64::min(), Numbers64::max(), plan.seed);
      !ok) {
    return ok;
  }
  if (auto ok = take_number(arguments, "epoch", Numbers32::min(), Numbers32::max(), plan.epoch);
      !ok) {
    return ok;
  }
  if (auto ok = take_number(arguments, "batch", 1u, 65536u, plan.batch); !ok) return ok;
  if (arguments.has("bench")) {
    if (auto ok = take_number(arguments, "seconds", 0.01, 3600.0, plan.seconds); !ok) return ok;
  }
  if (auto ok = take_number(arguments, "under-way", 1u, 16u, plan.under_way); !ok) return ok;
  if (arguments.has("device")) {
    if (auto ok = take_number(arguments, "device", 0, 1023, plan.options.device); !ok) return ok;
  }
  if (!arguments.has("jobs")) return {};
  return take_number(arguments, "jobs", 1u, 1024u, plan.options.threads);
}

void take_words(const Arguments& arguments, TensorPlan& plan) {
  TensorOptions& o = plan.options;
  constexpr NamedValue<Kernel> kKernels[] = {{"bilinear", Kernel::kBilinear},
                                             {"bicubic", Kernel::kBicubic},
                                             {"lanczos3", Kernel::kLanczos3},
                                             {"area", Kernel::kArea}};
  constexpr NamedValue<TensorType> kTypes[] = {{"float32", TensorType::kFloat32},
                                               {"float16", TensorType::kFloat16},
                                               {"bfloat16", TensorType::kBfloat16},
                                               {"uint8", TensorType::kUint8}};
  constexpr NamedValue<TensorLayout> kLayouts[] = {{"NCHW", TensorLayout::kNchw},
                                                   {"NHWC", TensorLayout::kNhwc}};
  constexpr NamedValue<TensorColor> kColors[] = {{"rgb", TensorColor::kRgb},
                                                 {"bgr", TensorColor::kBgr},
                                                 {"gray", TensorColor::kGray},
                                                 {"ycbcr", TensorColor::kYcbcr}};
  constexpr NamedValue<TensorFidelity> kFidelities[] = {{"exact", TensorFidelity::kExact},
                                                        {"fast", TensorFidelity::kFast}};
  constexpr NamedValue<FlipChoice> kFlips[] = {{"none", FlipChoice::kNone},
                                               {"random", FlipChoice::kRandom},
                                               {"always", FlipChoice::kAlways}};
  o.kernel = value_of(arguments.get("interpolation"), kKernels);
  o.type = value_of(arguments.get("dtype"), kTypes);
  o.layout = value_of(arguments.get("layout"), kLayouts);
  o.color = value_of(arguments.get("channels"), kColors);
  o.fidelity = value_of(arguments.get("fidelity"), kFidelities);
  o.antialias = !arguments.has("no-antialias");
  o.exif = arguments.has("exif");
  plan.flip = value_of(arguments.get("flip"), kFlips);
  plan.out = arguments.get("out");
}

}  // namespace

std::span<const OptionSpec> tensor_options() noexcept { return kTensorOwn; }
std::string_view tensor_details() noexcept { return kTensorDetails; }

Result<TensorPlan> make_tensor_plan(const Arguments& arguments) {
  TensorPlan plan;
  auto inputs = make_input_names(arguments.paths, arguments.get("files-from"));
  if (!inputs) return fail(inputs.error());
  plan.inputs = std::move(*inputs);
  if (plan.inputs.paths.empty() && plan.inputs.list.empty()) {
    return misuse("found no input; accepted: a folder, files, @LIST, or --files-from LIST");
  }
  take_words(arguments, plan);
  if (plan.out == "-") {
    return misuse("--out: an array is not written to standard output; accepted: a file");
  }
  if (auto ok = take_size(arguments, plan.options); !ok) return fail(ok.error());
  if (auto ok = take_crop(arguments, plan); !ok) return fail(ok.error());
  if (auto ok = take_numbers(arguments, plan); !ok) return fail(ok.error());
  const std::size_t channels = plan.options.color == TensorColor::kGray ? 1 : 3;
  // What 32 bits hold.
  if (auto ok = take_per_channel(arguments, "mean", "a number from -3.4e38 to 3.4e38", channels,
                                 plan.options.mean);
      !ok) {
    return fail(ok.error());
  }
  if (auto ok = take_per_channel(arguments, "std",
                                 "a number from 1.4e-45 to 3.4e38, positive or negative", channels,
                                 plan.options.stddev);
      !ok) {
    return fail(ok.error());
  }
  if (!arguments.has("bench") && arguments.given.contains("seconds")) {
    return misuse("--seconds: how long --bench goes on; accepted with --bench");
  }
  if (arguments.given.contains("under-way") &&
      (!arguments.has("bench") || plan.options.device < 0)) {
    return misuse("--under-way: batches at once; accepted with --bench and --device");
  }
  if (arguments.has("bench") && !plan.out.empty()) {
    return misuse("--bench writes nothing; accepted: either --bench or --out");
  }
  return plan;
}

}  // namespace framewire::app
