// framewire split IN…
#include <fmt/format.h>
#include <algorithm>
#include <base/clock.hpp>
#include <base/cores.hpp>
#include <base/start_thread.hpp>
#include <batch/caught.hpp>
#include <batch/input_file.hpp>
#include <batch/output_folder.hpp>
#include <command_line/command.hpp>
#include <command_line/lists.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <connection/place.hpp>
#include <files/inputs.hpp>
#include <files/y4m.hpp>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>
#include <report/console.hpp>
#include <report/json.hpp>
#include <split/splitter.hpp>
#include <thread>
#include <transport/device.hpp>
#include <utility>
#include <vector>

namespace framewire::app {
namespace {

/// Pictures in flight on the host besides one a worker: one is decoded, and one encoded.
constexpr std::size_t kInFlightBesides = 2;
/// Pictures in flight on GPUs: enough for all groups and for those that fill meanwhile.
constexpr std::size_t kInFlightOnGpus = 3072;
/// Threads that read and parse for GPUs.
constexpr unsigned kMaxReaders = 12;

struct SplitPlan {
  InputNames inputs;
  split::Parties parties;
  split::PictureForm form = split::PictureForm::kJpeg;
  std::string out;  ///< folder; "" writes nothing
};

// "host,host" or "0,1"; without a word, the host once a core.
Result<std::vector<int>> parse_devices(const std::string& text) {
  if (text.empty()) return std::vector<int>(base::usable_cores(), -1);
  std::vector<int> devices;
  for (const std::string& word : split_at_commas(text)) {
    int device = -1;
    const bool good = word == "host" || parse_number(word, 0, 1023, device);
    if (!good || (!devices.empty() && (devices.front() < 0) != (device < 0))) {
      return misuse(fmt::format(
          "--devices: found '{}'; accepted: host, once a worker, or ordinals of GPUs, joined by "
          "commas",
          text));
    }
    devices.push_back(device);
  }
  return devices;
}

// Who decodes, resamples and encodes.
Result<split::Parties> make_parties(const Arguments& arguments) {
  auto workers = parse_devices(arguments.get("devices"));
  if (!workers) return fail(workers.error());
  split::Parties parties;
  parties.workers = std::move(*workers);
  const bool on_gpu = parties.workers.front() >= 0;
  parties.decoder = parties.encoder = parties.workers.front();
  if (arguments.has("encode-on") &&
      (!on_gpu || !parse_number(arguments.get("encode-on"), 0, 1023, parties.encoder))) {
    return misuse(
        fmt::format("--encode-on: found '{}'; accepted: the ordinal of a GPU, with --devices of "
                    "GPUs",
                    arguments.get("encode-on")));
  }
  const CodecKind codec = arguments.options.codec;
  const CodecKind own = on_gpu ? CodecKind::kCuda : CodecKind::kTurbo;
  if (codec == CodecKind::kAuto || codec == own) return parties;
  return misuse(fmt::format("--codec: found '{}'; accepted by split over {}: auto, {}",
                            to_string(codec), on_gpu ? "GPUs" : "the host", to_string(own)));
}

// Whether samples go the way that --require names, if it names one, between all who exchange some.
Result<void> check_paths(const Arguments& arguments, const split::Parties& parties) {
  const auto required = transport::parse_requirement(arguments.get("require"));
  if (!required) return fail(required.error());
  const auto name = [](int device) {
    return device < 0 ? std::string("host") : fmt::format("cuda:{}", device);
  };
  const auto check = [&](int from, int to) -> Result<void> {
    transport::PathReport path{fmt::format("loopback from {} to {}", name(from), name(to))};
    const auto place = find_place(name(from));
    if (!place) return fail(Status(place.error()).about("--devices"));
    if (auto other = find_place(name(to)); !other) {
      return fail(Status(other.error()).about(to == parties.encoder ? "--encode-on" : "--devices"));
    }
    if (place->devices != nullptr) path.direct = place->devices->reach(from, to);
    path.why_staged = path.direct == transport::Reach::kNone
                          ? "neither writes to the other's memory"
                          : "they are joined by PCIe alone";
    return transport::check_path(path, *required);
  };
  for (const int worker : parties.workers) {
    if (auto good = check(parties.decoder, worker); !good) return good;
    if (auto good = check(worker, parties.encoder); !good) return good;
  }
  return {};
}

// @return misuse()
Result<SplitPlan> make_plan(const Arguments& arguments) {
  SplitPlan plan;
  auto parties = make_parties(arguments);
  if (!parties) return fail(parties.error());
  plan.parties = std::move(*parties);
  plan.form =
      arguments.get("as") == "planes" ? split::PictureForm::kPlanes : split::PictureForm::kJpeg;
  plan.out = arguments.get("out");
  const std::string list = arguments.get("files-from");
  if (list.empty() && arguments.paths.empty()) {
    return misuse("found no IN; accepted: a folder, files, or @LIST");
  }
  auto inputs = make_input_names(arguments.paths, list);
  if (!inputs) return fail(inputs.error());
  plan.inputs = std::move(*inputs);
  return plan;
}

/// What became of the pictures; answers come on the splitter's threads.
class Outcomes {
 public:
  /// @param folder  where to write to; may be null
  Outcomes(const SplitPlan& plan, batch::OutputFolder* folder, bool quiet)
      : plan_(plan), folder_(folder), quiet_(quiet) {}

  /// Where memory runs out for the line, the failure is counted alone.
  void failed(const Status& status) noexcept {
    try {
      say(printable(status.to_string()));
    } catch (const std::bad_alloc&) {
    }
    const std::lock_guard lock(mutex_);
    ++failures_;
  }
  [[nodiscard]] Result<void> admit(const batch::InputFile& file) const {
    return folder_ != nullptr ? folder_->admit_file(file) : Result<void>{};
  }
  void done(const batch::Input& input, const batch::Permissions& permissions,
            const Result<split::SplitOutput>& result) noexcept {
    const auto taken = batch::caught([&]() -> Result<void> {
      take(input, permissions, result);
      return {};
    });
    if (!taken) failed(taken.error());
  }

  /// Whether an error ends the command: where no space is left, say.
  [[nodiscard]] bool stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  [[nodiscard]] std::uint64_t images() const { return images_; }
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  [[nodiscard]] std::uint64_t bytes_in() const { return bytes_in_; }
  [[nodiscard]] std::uint64_t bytes_out() const { return bytes_out_; }

 private:
  void take(const batch::Input& input, const batch::Permissions& permissions,
            const Result<split::SplitOutput>& result) {
    if (!result) return failed(batch::about_file(result.error(), input.label));
    const auto bytes = bytes_of(*result);
    if (!bytes) return failed(batch::about_file(bytes.error(), input.label));
    if (folder_ != nullptr) {
      const auto written = folder_->commit(
          {path_of(input), name_of(input), input.label, permissions, false}, *bytes);
      if (!written) return stop(written.error());
    }
    const Report& report = result->resized.report;
    if (!quiet_) {
      for (const Warning& warning : report.warnings) {
        say(printable(fmt::format("warning: {}: {}: {}", input.label, to_string(warning.kind),
                                  warning.message)));
      }
    }
    const std::lock_guard lock(mutex_);
    ++images_;
    bytes_in_ += report.input.bytes;
    bytes_out_ += bytes->size();
  }

  [[nodiscard]] Result<std::vector<std::uint8_t>> bytes_of(const split::SplitOutput& output) const {
    if (plan_.form == split::PictureForm::kJpeg) return output.resized.bytes;
    std::vector<Y4mPlane> planes;
    for (const codec::Plane& plane : output.planes.planes) {
      planes.push_back({plane.samples.data(), plane.width_px, plane.height_px});
    }
    return make_y4m(planes);
  }
  [[nodiscard]] std::string path_of(const batch::Input& input) const {
    return (std::filesystem::path(plan_.out) / name_of(input)).string();
  }
  [[nodiscard]] std::string name_of(const batch::Input& input) const {
    return plan_.form == split::PictureForm::kJpeg ? input.name : input.name + ".y4m";
  }
  void stop(const batch::WriteError& error) {
    say(printable(error.status.to_string()));
    const std::lock_guard lock(mutex_);
    ++failures_;
    stopped_ = stopped_ || error.environment;
  }

  const SplitPlan& plan_;
  batch::OutputFolder* folder_;
  bool quiet_;
  mutable std::mutex mutex_;
  bool stopped_ = false;
  std::uint64_t images_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_out_ = 0;
};

/// Hands inputs to the splitter. Any number of threads.
class InputFeeder {
 public:
  InputFeeder(batch::Source& source, split::Splitter& splitter, const ResizeOptions& options,
              Outcomes& outcomes)
      : source_(source), splitter_(splitter), options_(options), outcomes_(outcomes) {}

  void run() noexcept {
    while (true) {
      const auto fed = batch::caught([this] { return feed_one(); });
      if (!fed) outcomes_.failed(fed.error());
      if (fed && !*fed) return;
    }
  }

 private:
  // @return whether there may be another
  Result<bool> feed_one() {
    const auto input = next();
    if (!input || outcomes_.stopped()) return false;
    if (!input->expected) return true;
    if (input->error) {
      outcomes_.failed(*input->error);
      return true;
    }
    const auto file = batch::InputFile::open(input->label);
    const auto admitted = file ? outcomes_.admit(*file) : Result<void>(fail(file.error()));
    auto bytes = admitted ? file->read(options_.limits.max_input_bytes)
                          : Result<std::vector<std::uint8_t>>(fail(admitted.error()));
    if (!bytes) {
      outcomes_.failed(bytes.error());
      return true;
    }
    splitter_.submit(std::move(*bytes), options_,
                     [this, input = *input,
                      permissions = file->permissions()](const Result<split::SplitOutput>& result) {
                       outcomes_.done(input, permissions, result);
                     });
    return true;
  }

  std::optional<batch::Input> next() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return std::nullopt;  // also where the listing throws
    auto input = source_.next();
    ended_ = !input || !*input;
    if (input) return std::move(*input);
    outcomes_.failed(input.error());
    return std::nullopt;
  }

  batch::Source& source_;
  split::Splitter& splitter_;
  const ResizeOptions& options_;
  Outcomes& outcomes_;
  std::mutex mutex_;  ///< of the source
  bool ended_ = false;
};

// On the host one reader is enough: its cores are the workers'.
void run_all(InputFeeder& reader, split::Splitter& splitter, bool on_gpu) {
  const unsigned cores = base::usable_cores();
  std::vector<std::thread> others;
  for (unsigned i = 1; on_gpu && i < std::min(cores, kMaxReaders); ++i) {
    // Where there is no thread for it, those that there are read all.
    if (!base::add_thread(others, "fw-split-read", [&reader] { reader.run(); })) break;
  }
  reader.run();
  for (std::thread& other : others) other.join();
  splitter.drain();
}

Json to_json(const std::vector<split::DeviceReport>& devices) {
  Json json = Json::array();
  for (const split::DeviceReport& device : devices) {
    json.push_back({{"device", device.device < 0 ? Json("host") : Json(device.device)},
                    {"path", device.path},
                    {"staged_bytes", device.staged_bytes},
                    {"stripes", device.stripes},
                    {"bytes_in", device.bytes_in},
                    {"bytes_out", device.bytes_out},
                    {"busy_s", device.busy_s},
                    {"lost", device.lost}});
  }
  return json;
}

std::string summary(const Json& result) {
  std::string text =
      fmt::format("{} images, {} failed, in {:.2f} s: {:.1f} images/s\n",
                  result["images"].get<std::uint64_t>(), result["failures"].get<std::uint64_t>(),
                  result["seconds"].get<double>(), result["images_per_second"].get<double>());
  text += fmt::format("{:<8} {:<22} {:>10} {:>12} {:>12} {:>10} {:>8}\n", "worker", "path",
                      "stripes", "in", "out", "staged", "busy s");
  std::size_t index = 0;
  for (const Json& device : result["devices"]) {
    text += fmt::format("{:<8} {:<22} {:>10} {:>12} {:>12} {:>10} {:>8.2f}\n", index++,
                        device["path"].get<std::string>(), device["stripes"].get<std::uint64_t>(),
                        human_bytes(device["bytes_in"].get<std::uint64_t>()),
                        human_bytes(device["bytes_out"].get<std::uint64_t>()),
                        human_bytes(device["staged_bytes"].get<std::uint64_t>()),
                        device["busy_s"].get<double>());
  }
  return text;
}

}  // namespace

int run_split(const Arguments& arguments) {
  const auto made = make_plan(arguments);
  if (!made) return report_usage("split", made.error());
  const SplitPlan& plan = *made;
  std::unique_ptr<batch::OutputFolder> folder;
  std::vector<batch::FileId> excluded;
  if (!plan.out.empty()) {
    auto opened = batch::OutputFolder::open(plan.out, known_inputs(plan.inputs), {});
    if (!opened) return refuse(opened.error());
    folder = std::move(*opened);
    excluded.push_back(folder->id());
  }
  const auto source = open_inputs(plan.inputs, excluded);
  if (!source) return refuse(source.error());
  if (auto good = check_paths(arguments, plan.parties); !good) return refuse(good.error());
  const bool on_gpu = plan.parties.decoder >= 0;
  auto splitter = split::Splitter::make(
      plan.parties, on_gpu ? kInFlightOnGpus : plan.parties.workers.size() + kInFlightBesides,
      plan.form);
  if (!splitter) return refuse(splitter.error());
  Outcomes outcomes(plan, folder ? &*folder : nullptr, arguments.has("quiet"));
  const auto start = base::Clock::now();
  InputFeeder reader(**source, **splitter, arguments.options, outcomes);
  run_all(reader, **splitter, on_gpu);
  const double seconds = base::elapsed_us(start) / 1e6;
  const Json result = {{"images", outcomes.images()},
                       {"failures", outcomes.failures()},
                       {"bytes_in", outcomes.bytes_in()},
                       {"bytes_out", outcomes.bytes_out()},
                       {"seconds", seconds},
                       {"images_per_second", static_cast<double>(outcomes.images()) / seconds},
                       {"options", to_string(arguments.options)},
                       {"devices", to_json((*splitter)->report())}};
  const bool silent = arguments.has("quiet") && !arguments.has("json");
  if (!silent && !print(arguments.has("json") ? pretty(result) : summary(result))) {
    return kEnvironment;
  }
  if (outcomes.stopped()) return kEnvironment;
  return outcomes.failures() > 0 ? kSomeFailed : kAllDone;
}

}  // namespace framewire::app
