// The options that say which GPUs a command uses, and how.
#pragma once

#include <command_line/command.hpp>
#include <framewire/engine.hpp>

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

/// The engine that --codec, --device and --gpu-memory ask for. @return misuse()
[[nodiscard]] Result<EngineOptions> make_engine_options(const Arguments& arguments);

}  // namespace framewire::app
