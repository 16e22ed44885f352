#include <fcntl.h>
#include <algorithm>
#include <base/clock.hpp>
#include <base/thread_name.hpp>
#include <exception>
#include <ipc/shared_pages.hpp>
#include <new>
#include <service/local/connection.hpp>
#include <service/pictures/picture_engine.hpp>
#include <service/workers/handshake.hpp>
#include <service/workers/sandbox.hpp>
#include <service/workers/worker.hpp>
#include <transport/shared/local_peer.hpp>
#include <utility>

namespace framewire::service::workers {
namespace {

using transport::shared::LocalPeer;

constexpr std::chrono::seconds kOrderTime{10};

Result<StartOrder> receive_order(const LocalPeer& service) {
  StartOrder order;
  auto message = service.receive(writable_bytes_of(order), base::Clock::now() + kOrderTime);
  if (!message) return fail(message.error());
  if (order.magic != StartOrder::kMagic || order.device_count > kMaxDevices) {
    return fail(StatusCode::kInvalidInput, "what came first is no order to start");
  }
  return order;
}

EngineOptions engine_options(const StartOrder& order) {
  EngineOptions options;
  options.codec = static_cast<CodecKind>(order.codec);
  options.threads = order.threads;
  options.queue = static_cast<std::size_t>(order.queue);
  options.gpu_memory_bytes = order.gpu_memory_bytes;
  options.warm_bytes = order.warm_bytes;
  options.devices.assign(order.devices.begin(), order.devices.begin() + order.device_count);
  return options;
}

/// The service has applied its limits; here none are lower.
Limits no_limits() {
  Limits limits;
  limits.max_input_bytes = limits.max_input_pixels = limits.max_scan_pixels =
      limits.max_output_pixels = UINT64_MAX;
  limits.max_scans = UINT32_MAX;
  limits.max_output_side_px = INT32_MAX;
  limits.deadline_ms = 0;
  return limits;
}

void list_devices(const Engine& engine, StartAnswer& answer) {
  for (const EngineDevice& device : engine.devices()) {
    if (answer.device_count == kMaxDevices) return;
    answer.devices[answer.device_count++] = device.ordinal;
  }
}

Status serve(const LocalPeer& service, const StartOrder& order, base::FileDescriptor socket) {
  if (auto tied = tie_to_service(order.service); !tied) return tied.error();
  if (auto limited = limit_memory(order.memory_bytes); !limited) return limited.error();
  auto engine = Engine::make(engine_options(order));
  if (!engine) return engine.error();
  auto pages = ipc::SharedPages::make({order.slots, order.input_bytes, order.output_bytes});
  if (!pages) return pages.error();
  auto registered = engine->register_memory(pages->input_with_guard());
  if (!registered) return registered.error();
  StartAnswer answer;
  list_devices(*engine, answer);
  base::FileDescriptor file(::fcntl(pages->fd(), F_DUPFD_CLOEXEC, 0));
  pages->close_file();
  OwnEngine pictures(*engine);
  local::FairShare share;
  ClientCounters counters;
  auto event = std::make_shared<base::WakeEvent>();
  if (!event->valid()) return {StatusCode::kBusy, "no descriptor is left for an event"};
  const local::ConnectionContext context{.engine = pictures,
                                         .share = share,
                                         .counters = counters,
                                         .limits = no_limits(),
                                         .believes_requests = true};
  local::LocalClientConnection connection(context, 0, std::move(*pages), std::move(*registered),
                                          LocalPeer(std::move(socket)), std::move(event));
  // CUDA opens files and talks to its driver at any time: a worker with a GPU has no sandbox.
  if (order.sandbox != 0 && answer.device_count == 0) {
    if (auto entered = enter_sandbox(); !entered) return entered.error();
  }
  const int shared = file.get();
  if (auto sent = service.send(bytes_of(answer), {&shared, 1}); !sent) return sent.error();
  file.reset();
  return connection.run();
}

}  // namespace

Status run_worker(int descriptor) try {
  base::name_thread("fw-worker");
  base::FileDescriptor socket(descriptor);
  const LocalPeer service(base::FileDescriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)));
  (void)::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  (void)::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  const auto order = receive_order(service);
  if (!order) return order.error();
  Status end = serve(service, *order, std::move(socket));
  if (end.code() != StatusCode::kPeerLost) {
    StartAnswer answer;
    answer.word = ipc::make_word(end);
    (void)service.send(bytes_of(answer));
  }
  return end;
} catch (const std::bad_alloc&) {
  return {StatusCode::kBusy, "memory ran out"};
} catch (const std::exception& error) {
  return {StatusCode::kInternal, error.what()};
}

}  // namespace framewire::service::workers
