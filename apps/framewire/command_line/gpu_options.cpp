#include <fmt/format.h>
#include <base/options_values.hpp>
#include <command_line/gpu_options.hpp>
#include <command_line/misuse.hpp>
#include <engine/codec_router.hpp>
#include <string_view>
#include <vector>

namespace framewire::app {
namespace {

Result<std::vector<int>> devices_of(const std::string& text) {
  std::vector<int> devices;
  if (text.empty() || options::parse_devices(text, devices)) return devices;
  return misuse(
      fmt::format("--device: found '{}'; accepted: ordinals joined by commas, or all", text));
}

}  // namespace

Result<std::uint64_t> parse_memory(std::string_view option, const std::string& text) {
  std::uint64_t bytes = 0;
  if (text.empty()) return bytes;
  if (!options::parse_count(text, 1024, 1, bytes)) {
    return misuse(fmt::format(
        "--{}: found '{}'; accepted: a number of bytes from 1, with k, M or G for powers of 1024",
        option, text));
  }
  return bytes;
}

Result<EngineOptions> make_engine_options(const Arguments& arguments) {
  EngineOptions options;
  options.codec = arguments.options.codec;
  const bool on_cpu = engine::runs_on_host(options.codec);
  for (const char* name : {"device", "gpu-memory", "warm"}) {
    if (on_cpu && arguments.has(name)) {
      return misuse(fmt::format("--{}: --codec {} uses no GPU; accepted with auto, cuda and nvjpeg",
                                name, to_string(options.codec)));
    }
  }
  auto devices = devices_of(arguments.get("device"));
  if (!devices) return fail(devices.error());
  options.devices = std::move(*devices);
  const auto memory = parse_memory("gpu-memory", arguments.get("gpu-memory"));
  if (!memory) return fail(memory.error());
  options.gpu_memory_bytes = *memory;
  const auto warm = parse_memory("warm", arguments.get("warm"));
  if (!warm) return fail(warm.error());
  options.warm_bytes = *warm;
  return options;
}

}  // namespace framewire::app
