// framewire serve --workers: processes that decode for the service.
#pragma once

#include <framewire/engine.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <service/http/settings.hpp>
#include <service/workers/worker_pool.hpp>

namespace framewire::app {

using service::workers::WorkerPool;

/// Starts the processes; none, and a null pointer, where the settings name none. Logs what becomes
/// of them as lines of JSON.
/// @param engine  what all of them together are to be
/// @return as WorkerPool::make()
[[nodiscard]] Result<std::unique_ptr<WorkerPool>> start_workers(
    const service::http::ServiceSettings& settings, const EngineOptions& engine);

}  // namespace framewire::app
