#include "bench_common.hpp"
#include <fmt/format.h>
#include <sys/utsname.h>
#include <algorithm>
#include <batch/input_file.hpp>
#include <batch/source.hpp>
#include <filesystem>
#include <fstream>
#include <jpeg/parser.hpp>
#include <thread>
#include "console.hpp"

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

}  // namespace

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text = text.substr(comma + 1);
  }
}

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
    while (const auto input = (*source)->next()) {
      if (!input->expected || input->error) continue;
      auto loaded = load(input->path, arguments.options.limits, inputs);
      if (!loaded) return fail(loaded.error());
    }
  }
  return inputs;
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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Json machine_json() {
  utsname system{};
  ::uname(&system);
  return {{"cpu", cpu_model()},
          {"cores", std::thread::hardware_concurrency()},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)}};
}

Json inputs_json(const std::vector<BenchInput>& inputs) {
  std::uint64_t bytes = 0;
  for (const BenchInput& input : inputs) bytes += input.bytes.size();
  return {{"count", inputs.size()}, {"bytes", bytes}, {"first", inputs.front().path}};
}

}  // namespace framewire::app
