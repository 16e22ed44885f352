// The options that say which GPUs a command uses, and how.
#pragma once

#include <command_line/command.hpp>
#include <cstdint>
#include <framewire/engine.hpp>
#include <string>
#include <string_view>

namespace framewire::app {

inline constexpr OptionSpec kDeviceOption{
    "device", "LIST", "", "", "GPUs to use: ordinals joined by commas, or all", "GPU"};
inline constexpr OptionSpec kGpuMemoryOption{
    "gpu-memory",
    "BYTES",
    "",
    "",
    "bound on each GPU's memory, with k, M or G; three quarters of what is free if not given",
    "GPU"};
inline constexpr OptionSpec kWarmOption{
    "warm",
    "BYTES",
    "",
    "",
    "memory to take on each GPU at the start instead of when batches need it, with k, M or G",
    "GPU"};

/// Bytes, or a number with k (or K), M or G. @param option  for the message
/// @return 0 for no text; misuse()
[[nodiscard]] Result<std::uint64_t> parse_memory(std::string_view option, const std::string& text);

/// The engine that --codec, --device, --gpu-memory and, where a command has it, --warm ask for.
/// @return misuse()
[[nodiscard]] Result<EngineOptions> make_engine_options(const Arguments& arguments);

}  // namespace framewire::app
