// framewire bench jpeg2jpeg IN…
#include <fmt/format.h>
#include <algorithm>
#include <base/clock.hpp>
#include <command_line/gpu_options.hpp>
#include <command_line/lists.hpp>
#include <command_line/misuse.hpp>
#include <commands/bench/common.hpp>
#include <commands/bench/memory_over_time.hpp>
#include <commands/bench/open_loop.hpp>
#include <commands/bench/profiles.hpp>
#include <commands/bench/throughput.hpp>
#include <commands/bench/under_way.hpp>
#include <commands/bench/workload.hpp>
#include <engine/codec_router.hpp>
#include <engine/device_lanes.hpp>
#include <framewire/engine.hpp>
#include <optional>
#include <report/console.hpp>

namespace framewire::app {
namespace {

constexpr std::string_view kTimedJpeg2jpeg =
    "host bytes to host bytes: parse, plan, gather (unless memory is the engine's), copy in, "
    "decode, resample, encode, copy out, "
    "memory for the output; not reading files, not verifying, not starting the engine";

/// The measurements that --parts chooses; those with options of their own are not among them.
struct BenchParts {
  bool throughput = false;
  bool latency = false;  ///< of a lone image and of a batch
  bool stages = false;
};

struct Jpeg2jpegPlan : BenchPlan {
  BenchParts parts;
  EngineOptions engine;
  std::size_t batch = 128;  ///< images of the batch whose latency is measured
  bool engine_memory = false;
  std::vector<std::size_t> under_way;  ///< requests of one thread at once, each measured
  std::vector<std::vector<std::uint8_t>> profiles;  ///< that inputs get; none: what they have
  Variation variation;
  OpenLoopPlan open_loop;
  bool memory_over_time = false;
};

/// Takes a number where it is given.
template <typename Number>
Result<void> take_number(const Arguments& arguments, const char* name, Number max, Number& out) {
  if (!arguments.has(name)) return {};
  if (parse_number(arguments.get(name), Number{1}, max, out)) return {};
  return misuse(fmt::format("--{}: found '{}'; accepted: a whole number from 1 to {}", name,
                            arguments.get(name), max));
}

/// Reads --parts. @return misuse()
Result<BenchParts> parse_parts(const std::string& text) {
  BenchParts parts;
  if (text == "none") return parts;
  for (const std::string& part : split_at_commas(text)) {
    if (part == "throughput") {
      parts.throughput = true;
    } else if (part == "latency") {
      parts.latency = true;
    } else if (part == "stages") {
      parts.stages = true;
    } else {
      return misuse(fmt::format(
          "--parts: found '{}'; accepted: throughput, latency and stages, joined by commas, or "
          "none",
          text));
    }
  }
  return parts;
}

/// Reads --parts and what depends on it. @return misuse() where nothing would be measured
Result<void> choose_parts(const Arguments& arguments, Jpeg2jpegPlan& plan) {
  auto parts = parse_parts(arguments.get("parts"));
  if (!parts) return fail(parts.error());
  plan.parts = *parts;
  plan.memory_over_time = arguments.has("memory-over-time");
  if (plan.memory_over_time && !plan.parts.throughput) {
    return misuse(
        "--memory-over-time: found no throughput in --parts; memory is shown while throughput is "
        "measured");
  }
  const bool any = plan.parts.throughput || plan.parts.latency || plan.parts.stages;
  if (!any && plan.under_way.empty() && plan.open_loop.rate <= 0) {
    return misuse("--parts: found 'none'; accepted: with --rate or --under-way only");
  }
  return {};
}

Result<EngineOptions> make_bench_engine(const Arguments& arguments) {
  auto engine = make_engine_options(arguments);
  if (!engine) return engine;
  if (auto ok = take_number(arguments, "batch", 4096u, engine->max_batch); !ok) {
    return fail(ok.error());
  }
  if (auto ok = take_number(arguments, "streams", 64u, engine->streams); !ok) {
    return fail(ok.error());
  }
  if (auto ok = take_number(arguments, "threads", 1024u, engine->threads); !ok) {
    return fail(ok.error());
  }
  return engine;
}

/// Whether a GPU may do some of it.
bool uses_gpus(const std::vector<std::string>& codecs) {
  return std::ranges::any_of(codecs, [](const std::string& codec) {
    ResizeOptions options;
    return set_option(options, "codec", codec) && !engine::runs_on_host(options.codec);
  });
}

// @return misuse()
Result<Jpeg2jpegPlan> make_jpeg2jpeg_plan(const Arguments& arguments) {
  Jpeg2jpegPlan plan;
  auto engine = make_bench_engine(arguments);
  if (!engine) return fail(engine.error());
  plan.engine = std::move(*engine);
  if (plan.engine.max_batch != 0) plan.batch = plan.engine.max_batch;
  auto under_way = parse_under_way(arguments.get("under-way"));
  if (!under_way) return fail(under_way.error());
  plan.under_way = std::move(*under_way);
  plan.engine_memory = arguments.get("memory") == "engine";
  auto profiles = make_bench_profiles(arguments.get("profiles"));
  if (!profiles) return fail(profiles.error());
  plan.profiles = std::move(*profiles);
  auto common = make_bench_plan(arguments);
  if (!common) return fail(common.error());
  static_cast<BenchPlan&>(plan) = std::move(*common);
  if (arguments.has("device") && !uses_gpus(plan.codecs)) {
    return misuse(
        fmt::format("--device: --codec {} uses no GPU; accepted with auto, cuda and nvjpeg",
                    arguments.get("codec")));
  }
  auto variation = parse_variation(arguments);
  if (!variation) return fail(variation.error());
  plan.variation = *variation;
  auto open_loop = parse_open_loop(arguments, plan.seconds, plan.variation.seed);
  if (!open_loop) return fail(open_loop.error());
  plan.open_loop = *open_loop;
  if (auto ok = choose_parts(arguments, plan); !ok) return fail(ok.error());
  return plan;
}

using Inputs = std::vector<std::span<const std::uint8_t>>;

/// The inputs of a row, and the engine's memory if they lie there.
struct Files {
  InputMemory memory;
  Inputs inputs;
};

Result<Files> place(Engine& engine, const std::vector<const BenchInput*>& from,
                    const Jpeg2jpegPlan& plan) {
  Files files;
  for (const BenchInput* input : from) files.inputs.emplace_back(input->bytes);
  if (!plan.engine_memory) return files;
  std::size_t bytes = 0;
  for (const auto& input : files.inputs) bytes += input.size();
  auto memory = engine.input_memory(bytes);
  if (!memory) return fail(memory.error());
  files.memory = std::move(*memory);
  std::span<std::uint8_t> room = files.memory.bytes();
  for (auto& input : files.inputs) {
    std::copy(input.begin(), input.end(), room.begin());
    input = room.first(input.size());
    room = room.subspan(input.size());
  }
  return files;
}

/// Sorted milliseconds of `rounds` times `count` images handed in at once, until all are answered.
std::vector<double> measure_latency(Engine& engine, const Inputs& inputs,
                                    const ResizeOptions& options, std::size_t count,
                                    double seconds) {
  constexpr std::size_t kMax = 1000;
  std::vector<double> times;
  const auto begin = base::Clock::now();
  std::size_t next = 0;
  while (times.size() < kMax && (times.size() < 5 || base::elapsed_us(begin) < seconds * 1e6)) {
    const auto start = base::Clock::now();
    std::vector<EngineRequest> requests(count);
    for (EngineRequest& request : requests) {
      request = {inputs[next++ % inputs.size()], options, [](const Result<Resized>&) {}};
    }
    engine.submit(requests);
    engine.drain();
    times.push_back(base::elapsed_us(start) / 1000);
  }
  std::sort(times.begin(), times.end());
  return times;
}

/// Times of the stages in an engine of its own, as measuring them costs throughput.
Json measure_stages(const Jpeg2jpegPlan& plan, const std::vector<const BenchInput*>& from,
                    const ResizeOptions& options) {
  EngineOptions timed = plan.engine;
  timed.codec = options.codec;
  timed.timed = true;
  timed.streams = 1;
  auto engine = Engine::make(timed);
  Json stages = Json::object();
  if (!engine || engine->devices().empty()) return stages;
  const auto files = place(*engine, from, plan);
  if (!files) return stages;
  const Inputs& inputs = files->inputs;
  (void)measure_latency(*engine, inputs, options, plan.batch, 0.1);
  const EngineStats before = engine->stats();
  (void)measure_latency(*engine, inputs, options, plan.batch, plan.seconds / 2);
  const EngineStats after = engine->stats();
  const auto images = static_cast<double>(after.gpu_images - before.gpu_images);
  for (std::size_t i = 0; i < after.stages.size() && i < before.stages.size() && images > 0; ++i) {
    stages[std::string(after.stages[i].name)] = (after.stages[i].us - before.stages[i].us) / images;
  }
  return stages;
}

/// Measures throughput, alike and varied by turns, and memory meanwhile if that is asked for.
/// @param row  gets what was measured
void add_throughput(Engine& engine, const Inputs& inputs, const ResizeOptions& options,
                    const Jpeg2jpegPlan& plan, Json& row) {
  std::optional<MemoryOverTime> memory;
  if (plan.memory_over_time) memory.emplace(engine);
  std::vector<Throughput> runs;
  std::vector<Throughput> varied;
  for (unsigned i = 0; i < plan.repeat; ++i) {
    runs.push_back(measure_throughput(engine, {inputs, options}, plan.seconds));
    if (!plan.variation.any()) continue;
    varied.push_back(measure_throughput(engine, {inputs, options, plan.variation}, plan.seconds));
  }
  row.update(rates_json(runs));
  row["submitters"] = submitters_of(engine);
  if (!varied.empty()) row["varied"] = rates_json(varied);
  if (memory) row["memory_over_time"] = memory->stop();
}

/// Latencies at a rate, of an engine of its own.
Result<Json> bench_open_loop(const Jpeg2jpegPlan& plan, const EngineOptions& wanted,
                             const std::vector<const BenchInput*>& from,
                             const ResizeOptions& options) {
  auto engine = Engine::make(wanted);
  if (!engine) return fail(engine.error());
  const auto files = place(*engine, from, plan);
  if (!files) return fail(files.error());
  return measure_open_loop(*engine, {files->inputs, options, plan.variation}, plan.open_loop);
}

/// The row of one codec. @return an error where it cannot be had here
Result<void> bench_jpeg2jpeg_codec(const std::string& codec, const std::vector<BenchInput>& inputs,
                                   ResizeOptions options, const Jpeg2jpegPlan& plan, Json& result) {
  if (auto set = set_option(options, "codec", codec); !set) return set;
  EngineOptions wanted = plan.engine;
  wanted.codec = options.codec;
  const auto start = base::Clock::now();
  auto engine = Engine::make(wanted);
  if (!engine) return fail(engine.error());
  const double start_ms = base::elapsed_us(start) / 1000;
  const auto resize = [&](const BenchInput& input) { return engine->resize(input.bytes, options); };
  const auto found = usable_inputs(codec, inputs, resize, result);
  if (found.empty()) return {};
  auto files = place(*engine, found, plan);
  if (!files) return fail(files.error());
  const Inputs& usable = files->inputs;
  const EngineStats first = engine->stats();
  Json row = {{"codec", codec}};
  if (plan.parts.throughput) add_throughput(*engine, usable, options, plan, row);
  const EngineStats stats = engine->stats();
  row["batch"] = plan.batch;
  if (plan.parts.latency) {
    row["latency_ms"] = percentiles(measure_latency(*engine, usable, options, 1, plan.seconds));
    row["batch_latency_ms"] =
        percentiles(measure_latency(*engine, usable, options, plan.batch, plan.seconds));
  }
  row["under_way"] =
      measure_under_way(*engine, {usable, options, plan.variation}, plan.under_way, plan.seconds);
  row["fallbacks"] = stats.fallbacks - first.fallbacks;
  row["images_a_batch"] = stats.batches == first.batches
                              ? 0.0
                              : static_cast<double>(stats.gpu_images - first.gpu_images) /
                                    static_cast<double>(stats.batches - first.batches);
  row["gpu_bytes"] = stats.device_bytes;
  row["pinned_bytes"] = stats.pinned_bytes;
  row["profiles"] = profiles_json(stats.profiles, first.profiles);
  row["resident_bytes"] = resident_bytes();
  row["start_ms"] = start_ms;
  row["devices"] = Json::array();
  for (const EngineDevice& device : engine->devices()) {
    row["devices"].push_back({{"ordinal", device.ordinal}, {"name", device.name}});
  }
  files->memory = {};
  engine = fail(StatusCode::kInternal, "over");  // gives its memory back before the next begins
  if (plan.parts.stages) row["stages_us"] = measure_stages(plan, found, options);
  if (plan.open_loop.rate > 0) {
    auto open_loop = bench_open_loop(plan, wanted, found, options);
    if (!open_loop) return fail(open_loop.error());
    row["open_loop"] = std::move(*open_loop);
  }
  result["rows"].push_back(std::move(row));
  return {};
}

std::string stages_line(const Json& row) {
  std::string line;
  if (row.contains("parse_us")) line = fmt::format(" parse {:.2f}", row["parse_us"].get<double>());
  const Json stages = row.value("stages_us", Json::object());
  for (const auto& [name, us] : stages.items()) {
    line += fmt::format("  {} {:.2f}", name, us.get<double>());
  }
  if (stages.empty()) return {};
  return fmt::format("{:<10} stages, us an image:{}\n", row["codec"].get<std::string>(), line);
}

std::string varied_line(const Json& row) {
  if (!row.contains("varied")) return {};
  const auto rate = [](const Json& of) {
    return fmt::format(
        "{:.0f} images/s ({:.0f} - {:.0f}), {:.0f} megapixels/s out",
        of["images_per_second"].get<double>(), of["images_per_second_min"].get<double>(),
        of["images_per_second_max"].get<double>(), of["megapixels_out_per_second"].get<double>());
  };
  return fmt::format("{:<10} alike: {}; varied: {}\n", row["codec"].get<std::string>(), rate(row),
                     rate(row["varied"]));
}

std::string device_names(const Json& result) {
  std::string text;
  for (const Json& row : result["rows"]) {
    for (const Json& device : row["devices"]) {
      const std::string name =
          fmt::format("GPU {} {}", device["ordinal"].get<int>(), device["name"].get<std::string>());
      if (text.find(name) == std::string::npos) text += fmt::format("; {}", name);
    }
  }
  return text;
}

/// Four columns of the table; dashes where throughput was not measured.
std::string throughput_columns(const Json& row) {
  if (!row.contains("images_per_second")) {
    return fmt::format("{:>10} {:>19} {:>8} {:>9}", "-", "-", "-", "-");
  }
  const auto spread = fmt::format("{:.0f} - {:.0f}", row["images_per_second_min"].get<double>(),
                                  row["images_per_second_max"].get<double>());
  return fmt::format("{:>10.0f} {:>19} {:>8.2f} {:>9.0f}", row["images_per_second"].get<double>(),
                     spread, row["gigabytes_in_per_second"].get<double>(),
                     row["bytes_out"].get<double>());
}

std::string jpeg2jpeg_table(const Json& result) {
  const auto mb = [](const Json& bytes) { return bytes.get<std::uint64_t>() >> 20; };
  std::string text = heading(result, device_names(result));
  if (result["memory"] == "engine") text += "inputs in the engine's memory\n";
  text += fmt::format("{:<10} {:>10} {:>19} {:>8} {:>9} {:>23} {:>23} {:>8} {:>8} {:>9}\n", "codec",
                      "images/s", "min - max", "GB/s in", "bytes out", "one image p50/p90/p99 ms",
                      "batch p50/p90/p99 ms", "GPU MB", "host MB", "fallbacks");
  for (const Json& row : result["rows"]) {
    const auto three = [&](const char* name) -> std::string {
      if (!row.contains(name)) return "-";
      return fmt::format("{:.2f}/{:.2f}/{:.2f}", row[name]["p50"].get<double>(),
                         row[name]["p90"].get<double>(), row[name]["p99"].get<double>());
    };
    text += fmt::format("{:<10} {} {:>23} {:>23} {:>8} {:>8} {:>9}\n",
                        row["codec"].get<std::string>(), throughput_columns(row),
                        three("latency_ms"), three("batch_latency_ms"), mb(row["gpu_bytes"]),
                        mb(row["resident_bytes"]), row["fallbacks"].get<std::uint64_t>());
  }
  for (const Json& row : result["rows"]) text += stages_line(row);
  for (const Json& row : result["rows"]) {
    const auto codec = row["codec"].get<std::string>();
    text += profiles_line(codec, row["profiles"]);
  }
  for (const Json& row : result["rows"]) {
    const auto codec = row["codec"].get<std::string>();
    text += under_way_lines(codec, row["under_way"]) + varied_line(row) +
            open_loop_lines(codec, row.value("open_loop", Json())) +
            memory_lines(codec, row.value("memory_over_time", Json::array()));
  }
  return text;
}

/// Whether the GPUs that are named are there. A codec that is not there is told in its place.
Result<void> check_devices(const Jpeg2jpegPlan& plan, ResizeOptions options) {
  EngineOptions wanted = plan.engine;
  for (const std::string& codec : plan.codecs) {
    if (auto set = set_option(options, "codec", codec); !set) return set;
    wanted.codec = options.codec;
    if (wanted.devices.empty() || engine::runs_on_host(wanted.codec)) continue;
    auto good = engine::check_devices(wanted);
    if (!good && good.error().code() == StatusCode::kInvalidInput) return good;
  }
  return {};
}

}  // namespace

int run_bench_jpeg2jpeg(const Arguments& arguments) {
  const auto made = make_jpeg2jpeg_plan(arguments);
  if (!made) return report_usage("bench", made.error());
  const Jpeg2jpegPlan& plan = *made;
  auto inputs = load_all(arguments);
  if (inputs) {
    if (auto ok = give_profiles(plan.profiles, *inputs); !ok) inputs = fail(ok.error());
  }
  if (!inputs) {
    report(inputs.error());
    return kSomeFailed;
  }
  if (inputs->empty()) return report_usage("bench", "found no JPEG in IN");
  if (auto good = check_devices(plan, arguments.options); !good) return refuse(good.error());
  Json result = begin_result(arguments, *inputs, plan, kTimedJpeg2jpeg);
  result["memory"] = plan.engine_memory ? "engine" : "own";
  if (plan.variation.any()) {
    result["vary"] = arguments.get("vary");
    result["seed"] = plan.variation.seed;
  }
  result["unavailable"] = Json::array();
  for (const std::string& codec : plan.codecs) {
    if (auto done = bench_jpeg2jpeg_codec(codec, *inputs, arguments.options, plan, result); !done) {
      say(printable(fmt::format("{}: {}", codec, done.error().to_string())));
      result["unavailable"].push_back({{"codec", codec}, {"error", to_json(done.error())}});
    }
  }
  if (!print(arguments.has("json") ? pretty(result) : jpeg2jpeg_table(result))) return kEnvironment;
  if (!result["unavailable"].empty()) return kEnvironment;
  return result["failed"].empty() ? kAllDone : kSomeFailed;
}

}  // namespace framewire::app
