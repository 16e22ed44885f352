// framewire serve --mps: this process as a client of NVIDIA's Multi-Process Service.
#pragma once

#include <framewire/status.hpp>
#include <optional>
#include <service/http/settings.hpp>
#include <service/mps/daemon.hpp>
#include <vector>

namespace framewire::app {

/// Starts the daemon, or finds it, and sets this process' environment, which CUDA reads once:
/// before an engine is made, and before there are other threads. The daemon must outlive the
/// engine. Nothing where nothing was asked for. @return as Daemon::start() and Daemon::attach()
[[nodiscard]] Result<std::optional<service::mps::Daemon>> start_mps(
    const service::http::MpsSettings& settings, const std::vector<int>& devices);

/// Logs that the daemon has ended by itself. @return false where it has not, or there is none
bool tell_of_end(const std::optional<service::mps::Daemon>& daemon);

}  // namespace framewire::app
