// framewire tensor IN…
#include <fmt/format.h>
#include <time.h>
#include <algorithm>
#include <base/clock.hpp>
#include <batch/atomic_file.hpp>
#include <batch/input_error.hpp>
#include <command_line/interruption.hpp>
#include <commands/tensor/batch_memory.hpp>
#include <commands/tensor/npy_file.hpp>
#include <commands/tensor/outputs.hpp>
#include <commands/tensor/samples.hpp>
#include <cstdlib>
#include <optional>
#include <report/console.hpp>
#include <report/json.hpp>
#include <transport/device.hpp>
#include <utility>

namespace framewire::app {
namespace {

/// Seconds of all threads of this process.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct TensorCounts {
  std::uint64_t images = 0;
  std::uint64_t failures = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  double seconds = 0;      ///< inside decode()
  double cpu_seconds = 0;  ///< likewise, of all threads
};

/// What one row of the batch is, as a line of JSON.
Json row_json(const Sample& sample, const TensorItem& item, const Result<TensorImage>& image) {
  Json row = {{"row", sample.number}, {"input", sample.path}, {"ok", image.has_value()}};
  if (!image) {
    row["error"] = to_json(sample.error ? *sample.error : image.error());
    return row;
  }
  const CropBox& crop = image->crop;
  row["width"] = image->width_px;
  row["height"] = image->height_px;
  row["crop"] = {crop.left_px, crop.top_px, crop.width_px, crop.height_px};
  row["flip"] = item.flip;
  row["orientation"] = image->orientation;
  row["warnings"] = to_json(image->warnings);
  return row;
}

class TensorRun {
 public:
  TensorRun(const TensorPlan& plan, const TensorOutputs& outputs, TensorDecoder& decoder,
            batch::Source& source, bool quiet)
      : plan_(plan), outputs_(outputs), decoder_(decoder), source_(source), quiet_(quiet) {}

  /// Once over the inputs. @param file  null: nothing is written
  [[nodiscard]] Result<void> over_inputs(NpyFile* file) {
    for (std::uint64_t number = 0;;) {
      const auto samples = read_samples(source_, plan_, plan_.batch, number);
      if (!samples) return fail(samples.error());
      if (samples->empty()) return {};
      for (const Sample& sample : *samples) {
        if (auto good = outputs_.check(sample); !good) return good;
      }
      const auto items = make_items(*samples, plan_, plan_.epoch);
      if (auto done = decode(*samples, items); !done) return done;
      if (auto told = tell(decoder_, *samples, items, file != nullptr); !told) return told;
      if (file != nullptr) {
        const auto elements = batch_.read(samples->size() * decoder_.image_bytes());
        if (!elements) return fail(elements.error());
        auto written = file->append(*elements, samples->size());
        if (!written) return written;
      }
      number += samples->size();
    }
  }

  /// Again and again from memory, each time as another epoch.
  [[nodiscard]] Result<void> bench() {
    const auto samples = read_samples(source_, plan_, std::numeric_limits<std::size_t>::max(), 0);
    if (!samples) return fail(samples.error());
    if (samples->empty()) return {};
    std::vector<std::vector<Sample>> batches;
    for (std::size_t i = 0; i < samples->size(); i += plan_.batch) {
      const std::size_t end = std::min(samples->size(), i + plan_.batch);
      batches.emplace_back(samples->begin() + static_cast<std::ptrdiff_t>(i),
                           samples->begin() + static_cast<std::ptrdiff_t>(end));
    }
    if (plan_.under_way > 1) return bench_overlapping(batches);
    const auto start = base::Clock::now();
    // Whole rounds: otherwise a run would favour the inputs that come first. The first is not
    // counted.
    for (std::uint32_t epoch = plan_.epoch, round = 0;; ++epoch, ++round) {
      for (const auto& batch : batches) {
        const auto items = make_items(batch, plan_, epoch);
        if (auto done = decode(batch, items); !done) return done;
        if (round > 0) continue;
        if (auto told = tell(decoder_, batch, items, false); !told) return told;
      }
      if (round == 0) count_anew();
      if (round > 0 && base::elapsed_us(start) >= plan_.seconds * 1e6) return {};
    }
  }

  [[nodiscard]] const TensorCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] const std::string& rows() const noexcept { return rows_; }
  [[nodiscard]] const std::optional<batch::Permissions>& permissions() const noexcept {
    return permissions_;
  }

 private:
  Result<void> decode(const std::vector<Sample>& samples, const std::vector<TensorItem>& items) {
    const auto start = base::Clock::now();
    const double cpu_start = cpu_seconds();
    auto done = batch_.decode(decoder_, items);
    counts_.cpu_seconds += cpu_seconds() - cpu_start;
    counts_.seconds += base::elapsed_us(start) / 1e6;
    if (!done) return done;
    count(decoder_, samples);
    return {};
  }

  /// A batch that is under way, and where it goes.
  struct Turn {
    TensorBatchMemory memory;
    const std::vector<Sample>* samples = nullptr;
    std::vector<TensorItem> items;
    std::optional<TensorBatch> batch;
  };

  /// bench(), each batch begun before earlier ones are waited for.
  Result<void> bench_overlapping(const std::vector<std::vector<Sample>>& batches) {
    std::vector<Turn> turns(plan_.under_way);
    std::size_t next = 0;
    auto start = base::Clock::now();
    double cpu_start = cpu_seconds();
    for (std::uint32_t epoch = plan_.epoch, round = 0;; ++epoch, ++round) {
      for (const auto& samples : batches) {
        Turn& turn = turns[next++ % turns.size()];
        if (auto done = end(turn, round == 0); !done) return done;
        turn.samples = &samples;
        turn.items = make_items(samples, plan_, epoch);
        auto begun = turn.memory.begin(decoder_, turn.items);
        if (!begun) return fail(begun.error());
        turn.batch = std::move(*begun);
      }
      const bool over = round > 0 && base::elapsed_us(start) >= plan_.seconds * 1e6;
      if (round > 0 && !over) continue;
      for (Turn& turn : turns) {
        if (auto done = end(turn, round == 0); !done) return done;
      }
      if (over) {
        counts_.seconds = base::elapsed_us(start) / 1e6;
        counts_.cpu_seconds = cpu_seconds() - cpu_start;
        return {};
      }
      count_anew();
      start = base::Clock::now();
      cpu_start = cpu_seconds();
    }
  }

  Result<void> end(Turn& turn, bool telling) {
    if (!turn.batch) return {};
    if (auto done = turn.batch->wait(); !done) return done;
    count(*turn.batch, *turn.samples);
    const auto batch = std::exchange(turn.batch, std::nullopt);
    return telling ? tell(*batch, *turn.samples, turn.items, false) : Result<void>{};
  }

  /// Behind the first round: what fails is told of once, and counts in no figure of speed.
  void count_anew() {
    const std::uint64_t failures = counts_.failures;
    counts_ = {};
    counts_.failures = failures;
  }

  /// A row of an array that failed is a row, too; what is measured is images that were made.
  /// @param made  a decoder or a batch, which knows the images
  template <typename Made>
  void count(const Made& made, const std::vector<Sample>& samples) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (plan_.seconds > 0 && !made.image(i)) continue;
      ++counts_.images;
      counts_.bytes_out += decoder_.image_bytes();
      counts_.bytes_in += samples[i].bytes.size();
    }
  }

  /// @param made  a decoder or a batch, which knows the images
  template <typename Made>
  Result<void> tell(const Made& made, const std::vector<Sample>& samples,
                    const std::vector<TensorItem>& items, bool keep_rows) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Sample& sample = samples[i];
      const auto& image = made.image(i);
      if (sample.permissions) narrow(permissions_, *sample.permissions);
      if (keep_rows) rows_ += one_line(row_json(sample, items[i], image));
      if (!image) {
        ++counts_.failures;
        (void)report(batch::about_label(sample.error ? *sample.error : image.error(), sample.path));
        continue;
      }
      for (const Warning& warning : image->warnings) {
        if (!quiet_) {
          say(printable(fmt::format("warning: {}: {}: {}", sample.path, to_string(warning.kind),
                                    warning.message)));
        }
      }
    }
    return {};
  }

  const TensorPlan& plan_;
  const TensorOutputs& outputs_;
  TensorDecoder& decoder_;
  batch::Source& source_;
  bool quiet_;
  TensorBatchMemory batch_;
  std::string rows_;
  std::optional<batch::Permissions> permissions_;
  TensorCounts counts_;
};

Json summary_json(const Arguments& arguments, const TensorPlan& plan, const TensorDecoder& decoder,
                  const TensorCounts& counts) {
  const auto rate = [](double amount, double seconds) {
    return seconds > 0 ? amount / seconds : 0.0;
  };
  const auto images = static_cast<double>(counts.images);
  const auto megabytes_in = static_cast<double>(counts.bytes_in) / 1e6;
  Json json = {{"images", counts.images},
               {"failures", counts.failures},
               {"bytes_in", counts.bytes_in},
               {"bytes_out", counts.bytes_out},
               {"device", decoder.options().device},
               {"threads", decoder.options().threads},
               {"batch", plan.batch},
               {"under_way", plan.under_way},
               {"seconds", counts.seconds},
               {"cpu_seconds", counts.cpu_seconds},
               {"images_per_second", rate(images, counts.seconds)},
               {"images_per_cpu_second", rate(images, counts.cpu_seconds)},
               {"megabytes_in_per_second", rate(megabytes_in, counts.seconds)}};
  for (const char* name : {"size", "crop", "flip", "interpolation", "fidelity", "dtype", "layout",
                           "channels", "seed", "epoch"}) {
    json["options"][name] = arguments.get(name);
  }
  if (!plan.out.empty()) json["out"] = plan.out;
  return json;
}

std::string summary_text(const TensorCounts& counts, const TensorDecoder& decoder) {
  const double seconds = std::max(counts.seconds, 1e-9);
  const double cpu = std::max(counts.cpu_seconds, 1e-9);
  return fmt::format(
      "{} images, {} failed: {:.0f} images/s, {:.1f} MB/s in, on {} threads; {:.0f} images per "
      "second of CPU time\n",
      counts.images, counts.failures, static_cast<double>(counts.images) / seconds,
      static_cast<double>(counts.bytes_in) / 1e6 / seconds, decoder.options().threads,
      static_cast<double>(counts.images) / cpu);
}

Result<void> write_rows(const TensorPlan& plan, const TensorRun& run) {
  batch::WriteOptions options;
  if (run.permissions()) options.source = &*run.permissions();
  const std::string& text = run.rows();
  auto written = batch::write_atomically(
      rows_path(plan.out), {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
      options);
  if (!written) return fail(written.error().status);
  return {};
}

/// @return the first error that ends the run
Result<void> make_batches(const TensorPlan& plan, TensorRun& run) {
  if (plan.seconds > 0) return run.bench();
  if (plan.out.empty()) return run.over_inputs(nullptr);
  auto file = NpyFile::open(plan.out, plan.options);
  if (!file) return fail(file.error());
  if (auto done = run.over_inputs(&*file); !done) return done;
  // An array of an earlier run is worth more than an empty one.
  if (run.counts().images == 0) return {};
  const auto* source = run.permissions() ? &*run.permissions() : nullptr;
  // The rows first: whoever sees the array finds them beside it.
  if (auto written = write_rows(plan, run); !written) return written;
  return file->close(source);
}

// The library names its own members; the command line has other words for them.
std::string in_words_of_options(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {", which max_output_side_px sets", ""},
      {", which max_output_pixels sets", ""},
      {"accepted without: bilinear", "accepted with it: --interpolation bilinear"},
      {"mean 0 and stddev 1", "no --mean and no --std"},
      {"-1, the CPU", "no --device, for the CPU"}};
  for (const auto& [theirs, ours] : kWords) {
    if (const auto at = text.find(theirs); at != std::string::npos) {
      text.replace(at, theirs.size(), ours);
    }
  }
  return text;
}

std::string option_of(const std::string& member) {
  constexpr std::pair<std::string_view, std::string_view> kOptions[] = {
      {"antialias", "no-antialias"},
      {"kernel", "interpolation"},
      {"stddev", "std"},
      {"threads", "jobs"},
      {"type", "dtype"}};
  const auto found =
      std::ranges::find(kOptions, member, [](const auto& pair) { return pair.first; });
  return "--" + std::string(found == std::end(kOptions) ? member : found->second);
}

/// Whether there are GPUs, but not this one: then its number is wrong, not the machine.
bool is_beyond_devices(int device) {
  const auto devices = transport::cuda_devices();
  return devices && device >= (*devices)->count();
}

int refuse_options(const Status& error, const TensorOptions& options) {
  const std::string message = in_words_of_options(error.message());
  if (error.subject().empty()) return refuse(Status(error.code(), message));
  const std::string option = option_of(error.subject());
  const bool usage = error.code() == StatusCode::kInvalidInput ||
                     error.code() == StatusCode::kTooLarge ||
                     (error.subject() == "device" && is_beyond_devices(options.device));
  if (!usage) return refuse(Status(error.code(), message).about(option));
  return report_usage("tensor", fmt::format("{}: {}", option, message));
}

}  // namespace

int run_tensor(const Arguments& arguments) {
  const auto plan = make_tensor_plan(arguments);
  if (!plan) return report_usage("tensor", plan.error());
  const TensorOutputs outputs(*plan);
  if (auto good = outputs.check(*plan); !good) return report_usage("tensor", good.error());
  // The decoder has more groups of images under way then. No other thread is there yet.
  if (plan->options.device >= 0) (void)::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "16", 0);
  auto decoder = TensorDecoder::make(plan->options);
  if (!decoder) return refuse_options(decoder.error(), plan->options);
  delete_unfinished_on_signals();
  const auto source = open_inputs(plan->inputs, {});
  if (!source) return refuse(source.error());
  TensorRun run(*plan, outputs, *decoder, **source, arguments.has("quiet"));
  if (auto done = make_batches(*plan, run); !done) return report(done.error());
  const TensorCounts& counts = run.counts();
  if (counts.images == 0 && counts.failures == 0) {
    return report_usage("tensor", "found no JPEG in IN");
  }
  const bool json = arguments.has("json");
  if (json || !arguments.has("quiet")) {
    const bool printed = json ? print(pretty(summary_json(arguments, *plan, *decoder, counts)))
                              : print(summary_text(counts, *decoder));
    if (!printed) return kEnvironment;
  }
  return counts.failures > 0 ? kSomeFailed : kAllDone;
}

}  // namespace framewire::app
