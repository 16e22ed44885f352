// framewire serve --mps: this process as a client of NVIDIA's Multi-Process Service.
#pragma once

#include <command_line/command.hpp>
#include <cstdint>
#include <framewire/engine.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <service/mps/daemon.hpp>
#include <string>

namespace framewire::app {

struct MpsOptions {
  bool start = false;  ///< a daemon of our own; otherwise one that runs is used
  std::string program;
  service::mps::Share share;
};

/// What the flags ask for; nothing with --mps off. @return a misuse()
[[nodiscard]] Result<std::optional<MpsOptions>> read_mps(const Arguments& arguments,
                                                         const EngineOptions& engine);

/// Starts the daemon, or finds it, and sets this process' environment, which CUDA reads once:
/// before an engine is made, and before there are other threads. The daemon must outlive the
/// engine. Nothing where nothing was asked for. @return as Daemon::start() and Daemon::attach()
[[nodiscard]] Result<std::optional<service::mps::Daemon>> start_mps(
    const std::optional<MpsOptions>& options, const EngineOptions& engine);

}  // namespace framewire::app
