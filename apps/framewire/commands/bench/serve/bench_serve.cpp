// framewire bench serve IN…
#include <fmt/format.h>
#include <algorithm>
#include <batch/atomic_file.hpp>
#include <command_line/interruption.hpp>
#include <commands/bench/serve/bench_serve.hpp>
#include <commands/bench/serve/measurement.hpp>
#include <commands/bench/serve/processes.hpp>
#include <commands/bench/serve/table.hpp>
#include <commands/bench/serve/work_folder.hpp>
#include <filesystem>
#include <jpeg/parser.hpp>
#include <report/console.hpp>
#include <topology/library_facts.hpp>

namespace framewire::app {
namespace {

using namespace bench_serve;

constexpr std::string_view kTimedEach =
    "timed: clients read each file into memory that the server shares, submit, and write each "
    "output to a file; servers parse, decode, resample, encode";
constexpr std::string_view kTimedOnce =
    "timed: clients submit from memory and collect outputs in memory; servers parse, decode, "
    "resample, encode; not reading or writing files";
constexpr int kInputQuality = 90;

/// The input as the published ones were: baseline, 4:2:0, with restart markers.
Result<std::vector<std::uint8_t>> encode_input(const BenchInput& input, const ServePlan& plan) {
  ResizeOptions options;
  options.codec = CodecKind::kTurbo;
  options.quality = kInputQuality;
  options.always_encode = true;
  options.restart_interval_mcus = plan.input_restart.value_or(0);
  options.width_px = plan.input_width_px;
  options.height_px = plan.input_height_px;
  options.resize = ResizeMode::kForce;
  options.enlarge = true;
  auto made = Resizer().resize(input.bytes, options);
  if (!made) return fail(made.error());
  return std::move(made->bytes);
}

/// Puts the inputs into the folder, anew where that was asked for. Those that cannot be had are
/// told of, and recorded.
std::vector<std::string> place_inputs(std::vector<BenchInput>& inputs, const ServePlan& plan,
                                      const std::string& folder, Json& result) {
  std::vector<std::string> paths;
  for (BenchInput& input : inputs) {
    if (g_interrupted) break;
    Result<void> placed;
    if (plan.encodes_inputs()) {
      auto encoded = encode_input(input, plan);
      if (encoded) input.bytes = std::move(*encoded);
      if (!encoded) placed = fail(encoded.error());
    }
    const std::string path = output_file(folder + "/in", "", paths.size());
    if (placed) {
      const auto written = batch::write_atomically(path, input.bytes, batch::Durability::kNone);
      if (!written) placed = fail(written.error().status);
    }
    if (placed) {
      paths.push_back(path);
      continue;
    }
    say(printable(fmt::format("{}: {}", input.path, placed.error().to_string())));
    result["failed"].push_back({{"input", input.path}, {"error", to_json(placed.error())}});
  }
  return paths;
}

/// Drops what the engine cannot do. @param answer  of make_expected()
void drop_failed(BenchStage& stage, const Json& answer, Json& result) {
  std::vector<std::size_t> failed;
  for (const Json& one : answer["failed"]) {
    const auto number = one["number"].get<std::size_t>();
    failed.push_back(number);
    say(printable(fmt::format("input {}: {}", number + 1, one["error"].dump())));
    result["failed"].push_back({{"input", stage.inputs.at(number)}, {"error", one["error"]}});
  }
  std::vector<std::string> good;
  for (std::size_t i = 0; i < stage.inputs.size(); ++i) {
    if (std::find(failed.begin(), failed.end(), i) == failed.end()) good.push_back(stage.inputs[i]);
  }
  stage.inputs = std::move(good);
}

std::uint64_t largest_file(const std::vector<std::string>& paths) {
  std::uint64_t largest = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (!error) largest = std::max<std::uint64_t>(largest, bytes);
  }
  return largest;
}

/// The one size of all, where what is done is what was published.
std::optional<ImageSizes> published_sizes(const ServePlan& plan,
                                          const std::vector<BenchInput>& inputs,
                                          const Json& answer) {
  if (!is_published_work(plan.options) || answer["sizes"].empty()) return std::nullopt;
  for (const Json& sizes : answer["sizes"]) {
    if (sizes != answer["sizes"][0]) return std::nullopt;
  }
  for (const BenchInput& input : inputs) {
    const auto file = jpeg::parse(input.bytes, Limits{});
    if (!file || file->scans.empty() || file->scans[0].restart_interval_mcus != 1) {
      return std::nullopt;
    }
  }
  const auto at = [&](int i) { return answer["sizes"][0][i].get<std::int32_t>(); };
  return ImageSizes{at(0), at(1), at(2), at(3)};
}

void add_lines(const ServePlan& plan, const std::optional<ImageSizes>& sizes, Json& result) {
  result["lines"] = Json::array();
  bool any = false;
  for (const unsigned servers : plan.servers) {
    for (const unsigned clients : plan.clients) {
      const auto was = sizes ? published(*sizes, servers, clients) : std::nullopt;
      Json figures = nullptr;
      if (was) figures = {{"without_mps", was->without_mps}, {"with_mps", was->with_mps}};
      any = any || was;
      result["lines"].push_back(
          {{"servers", servers}, {"clients_a_server", clients}, {"published", figures}});
    }
  }
  result["compared_with_published"] = any;
}

void add_driver(BenchStage& stage, Json& result) {
  result["driver"] = nullptr;
  const CodecKind codec = stage.plan->options.codec;
  if (codec == CodecKind::kTurbo || codec == CodecKind::kReference) return;
  const auto nvml = topology::ask_nvml();
  if (!nvml.driver_version.empty()) result["driver"] = nvml.driver_version;
  for (const auto& gpu : nvml.gpus) {
    if (gpu.memory_bytes == 0) continue;
    stage.gpu_memory_bytes = stage.gpu_memory_bytes == 0
                                 ? gpu.memory_bytes
                                 : std::min(stage.gpu_memory_bytes, gpu.memory_bytes);
  }
}

/// Nothing of it is CUDA's: MPS without a GPU is refused before anything is started.
Result<void> check_mps(const ServePlan& plan, const Json& result) {
  if (std::find(plan.mps.begin(), plan.mps.end(), true) == plan.mps.end()) return {};
  if (!result["devices"].empty()) return {};
  return fail(StatusCode::kUnsupported,
              fmt::format("--mps on: the engine (--codec {}) has no GPU here",
                          to_string(plan.options.codec)));
}

void measure_all(BenchStage& stage, Json& result) {
  const auto mps = check_mps(*stage.plan, result);
  for (const Combination& one : stage.plan->combinations()) {
    if (g_interrupted) return;
    const std::string name = fmt::format("{} engines, {} servers, {} clients each, MPS {}",
                                         one.shared ? "shared" : "separate", one.servers,
                                         one.clients, one.mps ? "on" : "off");
    auto row = one.mps && !mps ? Result<Json>(fail(mps.error())) : measure(stage, one);
    if (row) {
      say(fmt::format("{}: {:.0f} images/s", name, (*row)["images_per_second"].get<double>()));
      result["rows"].push_back(std::move(*row));
      continue;
    }
    if (g_interrupted) return;
    say(fmt::format("{}: {}", name, row.error().to_string()));
    result["unavailable"].push_back({{"engines", one.shared ? "shared" : "separate"},
                                     {"servers", one.servers},
                                     {"clients_a_server", one.clients},
                                     {"mps", one.mps},
                                     {"error", to_json(row.error())}});
  }
}

bool all_good(const Json& result) {
  if (!result["failed"].empty()) return false;
  return std::all_of(result["rows"].begin(), result["rows"].end(), [](const Json& row) {
    return row["failures"] == 0 && row["wrong"] == 0 && row["verified"] > 0;
  });
}

int run(BenchStage& stage, std::vector<BenchInput>& inputs, Json& result, bool json) {
  stage.inputs = place_inputs(inputs, *stage.plan, stage.folder, result);
  if (stage.inputs.empty() && !g_interrupted) {
    return report_usage("bench", "found no usable JPEG in IN");
  }
  add_driver(stage, result);
  const auto expected = make_expected(stage);
  if (!expected) return g_interrupted ? kInterrupted : refuse(expected.error());
  result["devices"] = (*expected)["devices"];
  result["codecs"] = (*expected)["codecs"];
  const auto sizes = published_sizes(*stage.plan, inputs, *expected);
  drop_failed(stage, *expected, result);
  if (stage.inputs.empty()) return report_usage("bench", "the codec can do none of IN");
  stage.max_input_bytes = largest_file(stage.inputs);
  stage.max_output_bytes = (*expected)["max_output_bytes"].get<std::uint64_t>();
  add_lines(*stage.plan, sizes, result);
  measure_all(stage, result);
  if (stage.daemon) {
    if (auto ended = stage.daemon->end(std::chrono::seconds(2)); !ended) report(ended.error());
  }
  // What has been measured is told also where it is not all.
  if (g_interrupted && result["rows"].empty()) return kInterrupted;
  if (!print(json ? pretty(result) : table(result))) return kEnvironment;
  if (g_interrupted) return kInterrupted;
  if (!result["unavailable"].empty()) return kEnvironment;
  return all_good(result) ? kAllDone : kSomeFailed;
}

}  // namespace

int run_bench_serve(const Arguments& arguments) {
  if (arguments.paths[0] == kPartWord) return run_part();
  const auto plan = make_plan(arguments);
  if (!plan) return report_usage("bench", plan.error());
  drain_on_signals(g_interrupted);
  auto inputs = load_all(arguments);
  if (!inputs) return report(inputs.error());
  if (inputs->empty()) return report_usage("bench", "found no JPEG in IN");
  if (const auto count = remove_folders_of_dead_runs(plan->work); count != 0) {
    say(fmt::format("removed folders that killed runs had left: {}", count));
  }
  auto folder = WorkFolder::make(plan->work);
  if (!folder) return refuse(folder.error());
  Arguments shown = arguments;
  shown.options = plan->options;
  Json result =
      begin_result(shown, *inputs, *plan, plan->files == FileUse::kEach ? kTimedEach : kTimedOnce);
  result["unavailable"] = Json::array();
  result["window"] = plan->window;
  result["client_threads"] = plan->client_threads;
  result["input_restart"] = plan->input_restart ? Json(*plan->input_restart) : Json(nullptr);
  BenchStage stage;
  stage.plan = &*plan;
  stage.folder = folder->path();
  return run(stage, *inputs, result, arguments.has("json"));
}

}  // namespace framewire::app
