#include <fmt/format.h>
#include <sys/prctl.h>
#include <algorithm>
#include <base/thread_name.hpp>
#include <codec/turbo/coefficient_reader.hpp>
#include <engine/device_verdict.hpp>
#include <engine/dispatcher.hpp>
#include <engine/lane.hpp>
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

/// A file that ends with EOI has, but for rare damage, nothing behind its scan; its entropy-coded
/// bytes need no look on the host. Others are parsed whole, so that warnings are complete.
jpeg::ParseDepth depth_for(std::span<const std::uint8_t> bytes, const ResizeOptions& options) {
  const bool ends =
      bytes.size() >= 2 && bytes[bytes.size() - 2] == 0xFF && bytes[bytes.size() - 1] == 0xD9;
  return ends && !options.strict ? jpeg::ParseDepth::kThroughFirst : jpeg::ParseDepth::kWhole;
}

}  // namespace

Dispatcher::Dispatcher(const EngineOptions& options, std::vector<DeviceLanes> devices)
    : options_(options),
      on_callers_thread_(options.callers_thread && devices.empty()),
      admission_(capacity_of(options, devices)) {
  for (DeviceLanes& lanes : devices) {
    devices_.push_back(std::make_unique<Device>());
    devices_.back()->lanes = std::move(lanes);
    lanes_ += devices_.back()->lanes.lanes;
  }
  // Pinned for one device, memory is pinned for all.
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
  device_queue_.close();
  host_queue_.close();
  for (std::thread& thread : threads_) thread.join();
  watch_.stop();
}

Result<void> Dispatcher::start() {
  if (on_callers_thread_) return {};
  watch_.start([this] { return sweep(); });
  for (unsigned i = 0; i < host_threads(options_); ++i)
    threads_.emplace_back([this] { host_main(); });
  return start_lanes();
}

/// All lanes of all devices at once: making a device's context takes long.
Result<void> Dispatcher::start_lanes() {
  std::vector<std::promise<Result<void>>> ready(lanes_);
  std::size_t next = 0;
  Result<void> result;
  try {
    for (const auto& device : devices_)
      for (unsigned i = 0; i < device->lanes.lanes; ++i, ++next)
        threads_.emplace_back(
            [this, &device = *device, &promise = ready[next]] { lane_main(device, promise); });
  } catch (const std::system_error& error) {
    result = fail(StatusCode::kBusy,
                  fmt::format("cannot start {} lanes: {}", lanes_, error.code().message()));
  }
  for (std::size_t i = 0; i < next; ++i)
    if (auto one = ready[i].get_future().get(); !one && result) result = fail(one.error());
  return result;
}

void Dispatcher::lane_main(Device& device, std::promise<Result<void>>& ready) {
  base::name_thread(fmt::format("fw-gpu{}", device.lanes.ordinal).c_str());
  // Waits of 200 µs for a batch would otherwise take up to 50 µs more, so that timers coincide.
  constexpr unsigned long kTimerSlack_ns = 1000;
  (void)::prctl(PR_SET_TIMERSLACK, kTimerSlack_ns, 0, 0, 0);
  auto codec = device.lanes.make_codec();
  if (!codec) return ready.set_value(fail(codec.error()));
  ready.set_value({});
  Lane(*this, device, **codec).run();
}

void Dispatcher::host_main() {
  base::name_thread("fw-host");
  std::vector<WorkPtr> taken;
  for (bool again = false; host_queue_.take({}, again, taken); again = true) {
    WorkPtr work = std::move(taken.front());
    taken.clear();
    if (!work->for_device) {
      run_on_host(std::move(work));
    } else if (auto ok = read_for_device(*work); !ok) {
      answer(std::move(work), fail(ok.error()));
    } else {
      work->for_device = false;
      device_queue_.push(std::move(work));
    }
  }
}

Result<void> Dispatcher::parse_for_device(Work& work) {
  auto parsed = parse_request(work.bytes, work.options, work.arrived,
                              depth_for(work.bytes, work.options), work.request);
  work.parsed = parsed.has_value();
  return parsed;
}

Result<bool> Dispatcher::parse_head_for_device(Work& work) {
  const bool head_will_do = devices_.front()->lanes.reads_scans_only &&
                            depth_for(work.bytes, work.options) == jpeg::ParseDepth::kThroughFirst;
  if (!head_will_do) return false;
  auto parsed = parse_request_head(work.bytes, work.options, work.arrived, work.copy, work.request);
  work.parsed = parsed && *parsed;
  return parsed;
}

Result<void> Dispatcher::plan_for_device(Work& work) {
  const plan::Capabilities& capable = devices_.front()->lanes.capabilities;
  if (auto ok = plan_request(work.request, capable, converters_); !ok) return fail(ok.error());
  auto turbo = router_.choose(CodecKind::kTurbo);
  if (!turbo) return fail(turbo.error());
  if (auto ok = resize_gain_map(work.request, *turbo->codec); !ok) return fail(ok.error());
  auto head = make_head(work.request);
  if (!head) return fail(head.error());
  work.head = std::move(*head);
  work.planned = true;
  return {};
}

void Dispatcher::host_first(WorkPtr work) {
  work->for_device = true;
  host_queue_.push(std::move(work));
}

/// Host threads read bytes that may change from a copy, which nobody writes to.
void Dispatcher::settle(Work& work) {
  // What is too large is refused before a byte is read.
  if (!work.changes || work.bytes.size() > work.options.limits.max_input_bytes) return;
  work.copy.assign(work.bytes.begin(), work.bytes.end());
  work.bytes = work.copy;
  work.changes = work.pinned = work.parsed = false;
}

Result<void> Dispatcher::read_for_device(Work& work) try {
  settle(work);
  if (!work.parsed) {
    if (auto ok = parse_for_device(work); !ok) return ok;
    if (auto ok = jpeg::check_supported(work.request.file); !ok) return ok;
  }
  if (auto ok = plan_for_device(work); !ok) return ok;
  const jpeg::JpegFile& file = work.request.file;
  if (!entropy_on_host(file.frame)) return {};
  codec::Outcome outcome;
  auto read = codec::read_coefficients(file, work.request.context, outcome);
  if (!read) return fail(read.error());
  add_warnings(work.request.report, outcome.warnings);
  work.coefficients = std::move(*read);
  return {};
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

void Dispatcher::to_host(WorkPtr work, std::string reason) {
  work->fallback = true;
  work->reason = std::move(reason);
  work->coefficients.reset();
  ++fallbacks_;
  host_queue_.push(std::move(work));
}

void Dispatcher::run_on_host(WorkPtr work) {
  if (work->stop.stop_requested())
    return answer(std::move(work), fail(*why_over(*work, base::Clock::now())));
  Result<Resized> result = resize_on_host(*work);
  if (result) ++host_images_;
  answer(std::move(work), std::move(result));
}

Result<Resized> Dispatcher::resize_on_host(Work& work) try {
  const CodecKind asked = work.options.codec;
  const bool named = asked != CodecKind::kAuto && work.fallback;
  if (named && work.options.strict)
    return fail(
        StatusCode::kUnsupported,
        "codec_fallback: " + work.reason + " (strict accepts no other codec than the one named)");
  settle(work);
  const bool chooses = on_callers_thread_ && options_.codec == CodecKind::kAuto;
  const auto route = router_.choose(runs_on_host(asked)                       ? asked
                                    : options_.codec == CodecKind::kReference ? options_.codec
                                    : chooses                                 ? CodecKind::kAuto
                                                                              : CodecKind::kTurbo);
  if (!route) return fail(route.error());
  Request request;
  auto parsed =
      parse_request(work.bytes, work.options, work.arrived, jpeg::ParseDepth::kWhole, request);
  if (!parsed) return fail(parsed.error());
  if (named) request.report.warnings.push_back({WarningKind::kCodecFallback, work.reason, {}});
  const std::string& reason = work.fallback ? work.reason : route->reason;
  return run_request(request, *route->codec, reason, converters_, work.sink);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

void Dispatcher::leave(bool busy) {
  if (++lost_lanes_ < lanes_) {
    if (busy) device_queue_.leave();
    return;
  }
  std::vector<WorkPtr> taken;
  for (; device_queue_.take({}, busy, taken); busy = true) {
    without_device(std::move(taken.front()));
    taken.clear();
  }
}

void Dispatcher::without_device(WorkPtr work) {
  constexpr const char* kWhy = "all GPUs of this engine have failed";
  if (work->options.codec == CodecKind::kAuto && options_.codec == CodecKind::kAuto)
    return to_host(std::move(work), kWhy);
  answer(std::move(work), fail(StatusCode::kDeviceLost, kWhy));
}

void Dispatcher::drain() { admission_.drain(); }

void Dispatcher::add_stages(const std::vector<StageTotal>& stages) {
  const std::lock_guard lock(stages_mutex_);
  if (stages_.empty()) {
    stages_ = stages;
    return;
  }
  for (std::size_t i = 0; i < std::min(stages.size(), stages_.size()); ++i)
    stages_[i].us += stages[i].us;
}

EngineStats Dispatcher::stats() const {
  EngineStats stats;
  stats.gpu_images = gpu_images_;
  stats.host_images = host_images_;
  stats.fallbacks = fallbacks_;
  stats.failures = failures_;
  stats.batches = batches_;
  for (const auto& device : devices_) {
    stats.device_bytes += device->device_bytes;
    stats.pinned_bytes += device->pinned_bytes;
  }
  stats.pinned_bytes += inputs_->pinned_bytes();
  const std::lock_guard lock(stages_mutex_);
  stats.stages = stages_;
  return stats;
}

std::vector<EngineDevice> Dispatcher::devices() const {
  std::vector<EngineDevice> list;
  for (const auto& device : devices_)
    list.push_back({device->lanes.ordinal, device->lanes.name, device->lost.load()});
  return list;
}

}  // namespace framewire::engine
