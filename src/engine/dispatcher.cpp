#include <fmt/format.h>
#include <sys/prctl.h>
#include <algorithm>
#include <base/thread_name.hpp>
#include <engine/dispatcher.hpp>
#include <engine/fallback.hpp>
#include <exception>
#include <new>
#include <system_error>

namespace framewire::engine {
namespace {

/// Enough for every lane to have a batch in work and another one waiting.
constexpr std::size_t kRequestsPerLane = 256;
constexpr std::size_t kRequestsPerThread = 4;

unsigned host_threads(const EngineOptions& options) {
  return options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
}

std::size_t capacity_of(const EngineOptions& options, const std::vector<DeviceLanes>& devices) {
  if (options.queue != 0) return options.queue;
  if (options.callers_thread && devices.empty()) return SIZE_MAX;
  std::size_t capacity = host_threads(options) * kRequestsPerThread;
  for (const DeviceLanes& device : devices) capacity += device.lanes * kRequestsPerLane;
  return capacity;
}

}  // namespace

Dispatcher::Dispatcher(const EngineOptions& options, std::vector<DeviceLanes> devices)
    : options_(options),
      on_callers_thread_(options.callers_thread && devices.empty()),
      flow_(capacity_of(options, devices)) {
  for (DeviceLanes& lanes : devices) {
    devices_.push_back(std::make_unique<LaneDevice>());
    devices_.back()->lanes = std::move(lanes);
    lanes_ += devices_.back()->lanes.lanes;
  }
  if (!devices_.empty()) preparation_.emplace(devices_.front()->lanes, router_, converters_);
  // Memory that is pinned for one device is pinned for all.
  inputs_ = devices_.empty() ? std::make_shared<InputStore>(HostAllocator())
                             : std::make_shared<InputStore>(devices_.front()->lanes.allocate_input,
                                                            devices_.front()->lanes.pin_input);
}

Result<std::unique_ptr<Dispatcher>> Dispatcher::make(const EngineOptions& options,
                                                     std::vector<DeviceLanes> devices) {
  std::unique_ptr<Dispatcher> made(new Dispatcher(options, std::move(devices)));
  try {
    if (auto started = made->start(); !started) return fail(started.error());
  } catch (const std::system_error& error) {
    return fail(StatusCode::kBusy,
                fmt::format("cannot start the engine's threads: {}", error.code().message()));
  }
  return made;
}

Dispatcher::~Dispatcher() {
  drain();
  flow_.device_queue().close();
  flow_.host_queue().close();
  for (std::thread& thread : threads_) thread.join();
  flow_.watch().stop();
}

Result<void> Dispatcher::start() {
  if (on_callers_thread_) return {};
  flow_.watch().start([this] { return flow_.sweep(); });
  for (unsigned i = 0; i < host_threads(options_); ++i) {
    threads_.emplace_back([this] { host_main(); });
  }
  return start_lanes();
}

/// Starts all lanes of all devices at once: making a device's context takes long.
Result<void> Dispatcher::start_lanes() {
  std::vector<std::promise<Result<void>>> ready(lanes_);
  std::size_t next = 0;
  Result<void> result;
  try {
    for (const auto& device : devices_) {
      for (unsigned i = 0; i < device->lanes.lanes; ++i, ++next) {
        threads_.emplace_back(
            [this, &device = *device, &promise = ready[next]] { lane_main(device, promise); });
      }
    }
  } catch (const std::system_error& error) {
    result = fail(StatusCode::kBusy,
                  fmt::format("cannot start {} lanes: {}", lanes_, error.code().message()));
  }
  for (std::size_t i = 0; i < next; ++i) {
    if (auto one = ready[i].get_future().get(); !one && result) result = fail(one.error());
  }
  return result;
}

void Dispatcher::lane_main(LaneDevice& device, std::promise<Result<void>>& ready) {
  base::name_thread(fmt::format("fw-gpu{}", device.lanes.ordinal).c_str());
  // By default the kernel delays timers by up to 50 µs, and lanes wait 200 µs for a batch.
  constexpr unsigned long kTimerSlack_ns = 1000;
  (void)::prctl(PR_SET_TIMERSLACK, kTimerSlack_ns, 0, 0, 0);
  auto codec = device.lanes.make_codec();
  if (!codec) return ready.set_value(fail(codec.error()));
  ready.set_value({});
  Lane({options_, *preparation_, flow_, device, lanes_}, **codec).run();
  if (device.lost) lane_lost();
}

void Dispatcher::host_main() {
  base::name_thread("fw-host");
  std::vector<WorkPtr> taken;
  for (std::size_t done = 0; flow_.host_queue().take({}, done, taken); done = 1) {
    WorkPtr work = std::move(taken.front());
    taken.clear();
    if (work->state != WorkState::kHostFirst) {
      run_on_host(std::move(work));
    } else if (auto ok = preparation_->prepare_on_host(*work); !ok) {
      flow_.answer(std::move(work), fail(ok.error()));
    } else {
      flow_.back_to_devices(std::move(work));
    }
  }
}

void Dispatcher::run_on_host(WorkPtr work) {
  if (work->stop.stop_requested()) {
    return flow_.answer(std::move(work), fail(*why_over(*work, base::Clock::now())));
  }
  Result<Resized> result = resize_on_host(*work);
  if (result) ++flow_.counters().host_images;
  flow_.answer(std::move(work), std::move(result));
}

Result<Resized> Dispatcher::resize_on_host(Work& work) try {
  const CodecKind asked = work.options.codec;
  const bool fallback = work.state == WorkState::kFallback;
  copy_changing_bytes(work);
  const bool chooses = on_callers_thread_ && options_.codec == CodecKind::kAuto;
  const auto route = router_.choose(runs_on_host(asked)                       ? asked
                                    : options_.codec == CodecKind::kReference ? options_.codec
                                    : chooses                                 ? CodecKind::kAuto
                                                                              : CodecKind::kTurbo);
  if (!route) return fail(route.error());
  Request request;
  auto parsed = fallback && asked != CodecKind::kAuto
                    ? parse_fallback(work.bytes, work.options, work.arrived, work.reason, request)
                    : parse_request(work.bytes, work.options, work.arrived,
                                    jpeg::ParseDepth::kWhole, request);
  if (!parsed) return fail(parsed.error());
  const std::string& reason = fallback ? work.reason : route->reason;
  return run_request(request, *route->codec, reason, converters_, work.sink);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

void Dispatcher::lane_lost() {
  if (++lost_lanes_ < lanes_) return;
  std::vector<WorkPtr> taken;
  for (std::size_t done = 0; flow_.device_queue().take({}, done, taken); done = 1) {
    without_device(std::move(taken.front()));
    taken.clear();
  }
}

void Dispatcher::without_device(WorkPtr work) {
  constexpr const char* kWhy = "all GPUs of this engine have failed";
  if (work->options.codec == CodecKind::kAuto && options_.codec == CodecKind::kAuto) {
    return flow_.fall_back(std::move(work), kWhy);
  }
  flow_.answer(std::move(work), fail(StatusCode::kDeviceLost, kWhy));
}

void Dispatcher::drain() { flow_.admission().drain(); }

EngineStats Dispatcher::stats() const {
  EngineStats stats;
  flow_.counters().read(stats);
  for (const auto& device : devices_) {
    stats.device_bytes += device->device_bytes;
    stats.pinned_bytes += device->pinned_bytes;
  }
  stats.pinned_bytes += inputs_->pinned_bytes();
  return stats;
}

std::vector<EngineDevice> Dispatcher::devices() const {
  std::vector<EngineDevice> list;
  for (const auto& device : devices_) {
    list.push_back({device->lanes.ordinal, device->lanes.name, device->lost.load()});
  }
  return list;
}

}  // namespace framewire::engine
