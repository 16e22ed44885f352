#include <fmt/format.h>
#include <command_line/command.hpp>
#include <commands/serve/clients.hpp>
#include <commands/serve/worker_processes.hpp>
#include <service/workers/handshake.hpp>
#include <service/workers/worker.hpp>

namespace framewire::app {
namespace {

using service::workers::WorkerEvent;
using service::workers::WorkerPoolOptions;

void log_worker(const WorkerEvent& event) {
  Json line = event_line(event.is_failure ? "warning" : "info", event.what);
  if (event.pid != 0) line["pid"] = event.pid;
  if (!event.why.empty()) line["reason"] = event.why;
  log_event(line);
}

}  // namespace

Result<std::unique_ptr<WorkerPool>> start_workers(const service::http::ServiceSettings& settings,
                                                  const EngineOptions& engine) {
  if (settings.workers == 0) return nullptr;
  WorkerPoolOptions options;
  options.workers = settings.workers;
  options.engine = engine;
  options.max_input_bytes = settings.defaults.limits.max_input_bytes;
  options.memory_bytes = settings.worker_memory;
  options.sandbox = settings.worker_sandbox;
  options.on_event = log_worker;
  auto made = WorkerPool::make(std::move(options));
  if (made || settings.worker_memory == 0) return made;
  // What a worker lacks when it starts is most often this, and its own message does not know.
  const Status& why = made.error();
  return fail(Status(why.code(), fmt::format("{}; worker-memory lets it take {} bytes",
                                             why.message(), settings.worker_memory))
                  .about(why.subject()));
}

int run_serve_worker() {
  // How it ended is told by the service, which notices it.
  const Status end = service::workers::run_worker(service::workers::kWorkerDescriptor);
  return end.code() == StatusCode::kPeerLost ? kAllDone : kEnvironment;
}

}  // namespace framewire::app
