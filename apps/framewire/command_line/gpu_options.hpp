// The options that say which GPUs a command uses, and how.
#pragma once

#include <command_line/command.hpp>
#include <framewire/engine.hpp>
#include <string>

namespace framewire::app {

inline constexpr OptionSpec kDeviceOption{
    "device", "LIST", "", "", "GPUs to use: ordinals joined by commas, or all", "GPU"};
inline constexpr OptionSpec kGpuMemoryOption{
    "gpu-memory",
    "BYTES",
    "",
    "",
    "bound on each GPU's memory, with K, M or G; three quarters of what is free if not given",
    "GPU"};

/// Reads --device and --gpu-memory into `options`. @return what is wrong, or ""
[[nodiscard]] std::string take_gpu_options(const Arguments& arguments, EngineOptions& options);

}  // namespace framewire::app
