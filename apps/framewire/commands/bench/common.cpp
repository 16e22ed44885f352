#include <fmt/format.h>
#include <sys/utsname.h>
#include <algorithm>
#include <base/cores.hpp>
#include <batch/input_file.hpp>
#include <command_line/build_info.hpp>
#include <command_line/lists.hpp>
#include <command_line/misuse.hpp>
#include <commands/bench/common.hpp>
#include <filesystem>
#include <framewire/version.hpp>
#include <fstream>
#include <jpeg/parser.hpp>
#include <report/console.hpp>

namespace framewire::app {
namespace {

Result<void> load(const std::string& path, const Limits& limits, std::vector<BenchInput>& inputs) {
  const auto file = batch::InputFile::open(path);
  if (!file) return fail(file.error());
  auto bytes = file->read(limits.max_input_bytes);
  if (!bytes) return fail(bytes.error());
  inputs.push_back({path, std::move(*bytes)});
  return {};
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

Json machine_json() {
  utsname system{};
  ::uname(&system);
  return {{"cpu", cpu_model()},
          {"cores", base::usable_cores()},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)}};
}

Json inputs_json(const std::vector<BenchInput>& inputs) {
  std::uint64_t bytes = 0;
  for (const BenchInput& input : inputs) bytes += input.bytes.size();
  return {{"count", inputs.size()}, {"bytes", bytes}, {"first", inputs.front().path}};
}

Result<void> verify_output(const Resized& resized) {
  const auto output = jpeg::parse(resized.bytes, Limits{});
  if (!output) return fail(output.error());
  const ImageSummary& claimed = resized.report.output;
  if (output->truncated || output->frame.width_px != claimed.width_px ||
      output->frame.height_px != claimed.height_px) {
    return fail(StatusCode::kInternal, "the output is not what its report claims");
  }
  return {};
}

}  // namespace

Result<std::vector<BenchInput>> load_all(const Arguments& arguments) {
  std::vector<BenchInput> inputs;
  for (std::size_t i = 1; i < arguments.paths.size(); ++i) {
    const std::string& path = arguments.paths[i];
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      auto loaded = load(path, arguments.options.limits, inputs);
      if (!loaded) return fail(loaded.error());
      continue;
    }
    const auto source = batch::open_folder(path, {});
    if (!source) return fail(source.error());
    for (;;) {
      const auto input = (*source)->next();
      if (!input) return fail(input.error());
      if (!*input) break;
      if (!(*input)->expected || (*input)->error) continue;
      auto loaded = load((*input)->label, arguments.options.limits, inputs);
      if (!loaded) return fail(loaded.error());
    }
  }
  return inputs;
}

Result<BenchPlan> make_bench_plan(const Arguments& arguments) {
  BenchPlan plan;
  plan.codecs = split_at_commas(arguments.get("codec"));
  for (const std::string& codec : plan.codecs) {
    ResizeOptions probe;
    if (auto set = set_option(probe, "codec", codec); !set) {
      return misuse(fmt::format("--codec: {}", set.error().message()));
    }
  }
  if (!parse_number(arguments.get("seconds"), 0.01, 3600.0, plan.seconds)) {
    return misuse(
        fmt::format("--seconds: found '{}'; accepted: 0.01 to 3600", arguments.get("seconds")));
  }
  if (!parse_number(arguments.get("repeat"), 1u, 1000u, plan.repeat)) {
    return misuse(
        fmt::format("--repeat: found '{}'; accepted: 1 to 1000", arguments.get("repeat")));
  }
  return plan;
}

Json begin_result(const Arguments& arguments, const std::vector<BenchInput>& inputs,
                  const BenchPlan& plan, std::string_view timed) {
  return {{"framewire", kVersion},         {"commit", kCommit},
          {"compiler", kCompiler},         {"build_type", kBuildType},
          {"machine", machine_json()},     {"options", to_string(arguments.options)},
          {"inputs", inputs_json(inputs)}, {"timed", timed},
          {"seconds", plan.seconds},       {"repeat", plan.repeat},
          {"rows", Json::array()},         {"failed", Json::array()}};
}

std::string heading(const Json& result, std::string_view devices) {
  return fmt::format("{}, {} cores{}; framewire {} ({})\n{} inputs, {}; {}\n",
                     result["machine"]["cpu"].get<std::string>(),
                     result["machine"]["cores"].get<unsigned>(), devices, kVersion, kCommit,
                     result["inputs"]["count"].get<std::uint64_t>(),
                     human_bytes(result["inputs"]["bytes"].get<std::uint64_t>()),
                     result["options"].get<std::string>());
}

std::vector<const BenchInput*> usable_inputs(
    const std::string& codec, const std::vector<BenchInput>& inputs,
    const std::function<Result<Resized>(const BenchInput&)>& resize, Json& result) {
  std::vector<const BenchInput*> usable;
  for (const BenchInput& input : inputs) {
    const auto resized = resize(input);
    const auto verified = resized ? verify_output(*resized) : Result<void>(fail(resized.error()));
    if (verified) {
      usable.push_back(&input);
      continue;
    }
    say(printable(fmt::format("{}: {}: {}", codec, input.path, verified.error().to_string())));
    result["failed"].push_back(
        {{"codec", codec}, {"input", input.path}, {"error", to_json(verified.error())}});
  }
  return usable;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Json percentiles(const std::vector<double>& sorted) {
  return {{"p50", percentile(sorted, 0.5)},
          {"p90", percentile(sorted, 0.9)},
          {"p99", percentile(sorted, 0.99)},
          {"max", sorted.empty() ? 0.0 : sorted.back()}};
}

}  // namespace framewire::app
