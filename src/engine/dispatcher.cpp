#include <sys/prctl.h>
#include <algorithm>
#include <array>
#include <base/cores.hpp>
#include <base/start_thread.hpp>
#include <cstdio>
#include <engine/dispatcher.hpp>
#include <engine/fallback.hpp>
#include <exception>
#include <new>
#include <utility>

namespace framewire::engine {
namespace {

/// Enough for every lane to have a batch in work and another one waiting.
constexpr std::size_t kRequestsPerLane = 256;
constexpr std::size_t kRequestsPerThread = 4;

/// Threads that prepare profiles' conversions, of as many host threads.
constexpr unsigned kHostThreadsPerConversionThread = 8;

unsigned host_threads(const EngineOptions& options) {
  return options.threads != 0 ? options.threads : base::usable_cores();
}

/// Host threads that can run at a time.
std::size_t threads_that_run(const EngineOptions& options) {
  return std::min(host_threads(options), base::usable_cores());
}

std::size_t capacity_of(const EngineOptions& options, const std::vector<DeviceLanes>& devices) {
  if (options.queue != 0) return options.queue;
  if (options.callers_thread && devices.empty()) return SIZE_MAX;
  std::size_t capacity = host_threads(options) * kRequestsPerThread;
  for (const DeviceLanes& device : devices) capacity += device.all_lanes() * kRequestsPerLane;
  return capacity;
}

}  // namespace

Dispatcher::Dispatcher(const EngineOptions& options, std::vector<DeviceLanes> devices)
    : options_(options),
      on_callers_thread_(options.callers_thread && devices.empty()),
      flow_(capacity_of(options, devices)),
      helpers_(flow_.host_queue(), flow_.admission(), threads_that_run(options)),
      converters_(options.profile_bytes != 0 ? options.profile_bytes
                                             : ConverterCache::kDefaultBytes) {
  for (DeviceLanes& lanes : devices) {
    devices_.push_back(std::make_unique<LaneDevice>());
    devices_.back()->lanes = std::move(lanes);
    lanes_ += devices_.back()->lanes.lanes;
    progressive_lanes_ += devices_.back()->lanes.progressive_lanes;
  }
  if (!devices_.empty()) {
    preparation_.emplace(devices_.front()->lanes, router_, converters_, helpers_);
  }
  // Memory that is pinned for one device is pinned for all.
  inputs_ = devices_.empty() ? std::make_shared<InputStore>(HostAllocator())
                             : std::make_shared<InputStore>(devices_.front()->lanes.allocate_input,
                                                            devices_.front()->lanes.pin_input);
}

Result<std::unique_ptr<Dispatcher>> Dispatcher::make(const EngineOptions& options,
                                                     std::vector<DeviceLanes> devices) {
  try {
    std::unique_ptr<Dispatcher> made(new Dispatcher(options, std::move(devices)));
    if (auto started = made->start(); !started) return fail(started.error());
    return made;
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, kNoMemory);
  }
}

Dispatcher::~Dispatcher() {
  // What callbacks and `on_room` functions submit until then is answered, too.
  flow_.admission().wait_until_idle();
  flow_.device_queue().close();
  flow_.host_queue().close();
  flow_.conversions().close();
  for (std::thread& thread : threads_) thread.join();
  flow_.watch().stop();
}

Result<void> Dispatcher::start() {
  if (on_callers_thread_) return {};
  auto started = flow_.watch().start([this] { return flow_.sweep(); });
  for (unsigned i = 0; i < host_threads(options_) && started; ++i) {
    started = base::add_thread(threads_, "fw-host", [this] { host_main(); });
  }
  if (!started) return started;
  const unsigned converting =
      std::max(1u, host_threads(options_) / kHostThreadsPerConversionThread);
  flow_.conversions().expect_threads(converting);
  for (unsigned i = 0; i < converting && started; ++i) {
    started = base::add_thread(threads_, "fw-profile", [this] { conversion_main(); });
  }
  if (!started) return started;
  return start_lanes();
}

Result<std::unique_ptr<codec::BatchCodec>> Dispatcher::make_codec(const DeviceLanes& lanes,
                                                                  LaneKind kind) const try {
  auto codec = lanes.make_codec(kind);
  if (!codec || !warm_up_ || kind == LaneKind::kProgressive) return codec;
  const std::size_t most = options_.max_batch != 0 ? options_.max_batch : lanes.max_images;
  if (auto ok = warm_up_->run(**codec, most); !ok) return fail(ok.error());
  return codec;
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, kNoMemory);
}

/// Starts all lanes of all devices at once: making a device's context takes long.
Result<void> Dispatcher::start_lanes() {
  if (options_.warm_bytes != 0 && !devices_.empty() &&
      devices_.front()->lanes.kind == CodecKind::kCuda) {
    const auto turbo = router_.choose(CodecKind::kTurbo);
    if (!turbo) return fail(turbo.error());
    auto picture = WarmUpPicture::make(*turbo->codec, devices_.front()->lanes.capabilities);
    if (!picture) return fail(picture.error());
    warm_up_.emplace(std::move(*picture));
  }
  std::vector<std::promise<Result<void>>> ready(lanes_ + progressive_lanes_);
  std::size_t next = 0;
  Result<void> started;
  for (const auto& device : devices_) {
    const DeviceLanes& lanes = device->lanes;
    std::array<char, 16> name{};
    (void)std::snprintf(name.data(), name.size(), "fw-gpu%d", lanes.ordinal);
    for (unsigned i = 0; i < lanes.all_lanes() && started; ++i) {
      const LaneKind kind = i < lanes.lanes ? LaneKind::kAny : LaneKind::kProgressive;
      started = base::add_thread(threads_, name.data(),
                                 [this, kind, &device = *device, &promise = ready[next]] {
                                   lane_main(device, kind, promise);
                                 });
      if (started) ++next;
    }
  }
  // Lanes that have been started refer to `ready`: until all have answered nothing may throw.
  Result<void> result;
  for (std::size_t i = 0; i < next; ++i) {
    auto one = ready[i].get_future().get();
    if (!one && result) result = fail(std::move(one.error()));
  }
  return started ? std::move(result) : std::move(started);
}

void Dispatcher::lane_main(LaneDevice& device, LaneKind kind, std::promise<Result<void>>& ready) {
  // By default the kernel delays timers by up to 50 µs, and lanes wait 200 µs for a batch.
  constexpr unsigned long kTimerSlack_ns = 1000;
  (void)::prctl(PR_SET_TIMERSLACK, kTimerSlack_ns, 0, 0, 0);
  auto codec = make_codec(device.lanes, kind);
  if (!codec) return ready.set_value(fail(std::move(codec.error())));
  ready.set_value({});
  Lane lane({options_, *preparation_, flow_, device, lanes_, kind}, **codec);
  if (kind == LaneKind::kProgressive) return lane.run_progressive();
  lane.run();
  if (device.lost) lane_lost();
}

void Dispatcher::host_main() {
  WorkList taken;
  for (std::size_t done = 0; flow_.host_queue().take({}, done, taken); done = 1) {
    WorkPtr work = taken.pop_front();
    const WorkQueue::Turn turn(flow_.host_queue(), *work);
    if (work->state == WorkState::kHostFirst) {
      prepare_for_device(std::move(work));
    } else {
      run_on_host(std::move(work));
    }
  }
}

void Dispatcher::prepare_for_device(WorkPtr work) noexcept {
  work->begin();
  if (!work->claim_turn()) return flow_.answer(std::move(work), fail(superseded()));
  auto planned = preparation_->plan_on_host(*work);
  if (!planned) return flow_.answer(std::move(work), fail(std::move(planned.error())));
  if (*planned == Planned::kAwaitsConversion) {
    return flow_.await_conversion(std::move(work), color::Side::kDevice);
  }
  // From now on it is like a progressive file without a gain map.
  if (std::exchange(work->has_gain_map_to_do, false) && work->device_could_decode) {
    return flow_.host_again(std::move(work));
  }
  if (auto decoded = preparation_->decode_on_host(*work); !decoded) {
    return flow_.answer(std::move(work), fail(std::move(decoded.error())));
  }
  flow_.back_to_devices(std::move(work));
}

void Dispatcher::conversion_main() {
  while (WorkPtr work = flow_.conversions().take()) {
    const ConverterCache::Conversion conversion = work->request.conversion;
    WorkList ready;
    try {
      // The request itself finds out where this has failed, and goes on without its profile.
      (void)converters_.prepare(conversion, work->side);
      ready.push_back(std::move(work));
    } catch (const std::bad_alloc&) {
      work.reset();  // answered: see DropWork
    }
    WorkList others = flow_.conversions().complete(conversion.get());
    while (!others.empty()) ready.push_back(others.pop_front());
    flow_.go_on_with_conversion(std::move(ready));
  }
}

void Dispatcher::run_on_host(WorkPtr work) noexcept {
  work->begin();
  if (!work->claim_turn()) return flow_.answer(std::move(work), fail(superseded()));
  if (work->stop.stop_requested()) {
    Status why = why_over(*work);
    return flow_.answer(std::move(work), fail(std::move(why)));
  }
  Result<std::optional<Resized>> result = resize_on_host(*work);
  if (!result) return flow_.answer(std::move(work), fail(std::move(result.error())));
  if (!*result) return flow_.await_conversion(std::move(work), color::Side::kHost);
  ++flow_.counters().host_images;
  flow_.answer(std::move(work), std::move(**result));
}

Result<std::optional<Resized>> Dispatcher::resize_on_host(Work& work) try {
  const CodecKind asked = work.options.codec;
  const bool fallback = work.state == WorkState::kFallback;
  copy_changing_bytes(work);
  // What asks for a GPU is here because no GPU takes it: then the fastest on the CPU is as good.
  const CodecKind of_engine = runs_on_host(options_.codec) ? options_.codec : CodecKind::kAuto;
  const auto route = router_.choose(runs_on_host(asked) ? asked : of_engine);
  if (!route) return fail(route.error());
  Request request;
  auto parsed =
      fallback && asked != CodecKind::kAuto
          ? parse_fallback(work.bytes, work.options, work.counted_from(), work.reason, request)
          : parse_request(work.bytes, work.options, work.counted_from(), jpeg::ParseDepth::kWhole,
                          request);
  if (!parsed) return fail(parsed.error());
  request.start = work.arrived;
  const std::string& reason = fallback ? work.reason : route->reason;
  // Known from earlier, where this request has waited for it or comes from a device.
  request.conversion = std::move(work.request.conversion);
  const plan::Capabilities capable = route->codec->capabilities();
  if (on_callers_thread_) {
    if (auto ok = plan_request(request, capable, converters_); !ok) return fail(ok.error());
  } else {
    const auto planned = try_plan_request(request, capable, converters_, color::Side::kHost);
    if (!planned) return fail(planned.error());
    if (*planned == Planned::kAwaitsConversion) {
      work.request.conversion = std::move(request.conversion);
      return std::nullopt;
    }
  }
  if (!on_callers_thread_) request.context.helpers = &helpers_;
  auto resized = run_planned(request, *route->codec, reason, work.sink);
  if (!resized) return fail(resized.error());
  return std::move(*resized);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, kNoMemory);
}

void Dispatcher::lane_lost() {
  if (++lost_lanes_ < lanes_) return;
  WorkList taken;
  for (std::size_t done = 0; flow_.device_queue().take({}, done, taken); done = 1) {
    try {
      without_device(taken.pop_front());
    } catch (const std::bad_alloc&) {
      // The request has been answered: see DropWork.
    }
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
  stats.profiles = converters_.stats();
  for (const auto& device : devices_) {
    stats.device_bytes += device->device_bytes;
    const DeviceLanes& lanes = device->lanes;
    stats.pinned_bytes += lanes.pinned_bytes ? lanes.pinned_bytes() : device->pinned_bytes.load();
  }
  stats.kept = kept_memory(stats);
  stats.pinned_bytes += inputs_->pinned_bytes();
  return stats;
}

/// @param stats  device_bytes and pinned_bytes are those of lanes
std::vector<KeptMemory> Dispatcher::kept_memory(const EngineStats& stats) const {
  std::vector<KeptMemory> kept;
  const auto add = [&](std::string_view name, const base::CacheUse& use) {
    kept.push_back({name, use.bytes, use.bound_bytes, use.hits, use.misses});
  };
  add("profiles", converters_.use());
  add("filters", router_.filters());
  add("inputs", inputs_->use());
  if (devices_.empty()) return kept;
  base::CacheUse headers;
  base::CacheUse device_buffers{stats.device_bytes, 0, 0, 0};
  base::CacheUse pinned_buffers{stats.pinned_bytes, 0, 0, 0};
  for (const auto& device : devices_) {
    const DeviceLanes& lanes = device->lanes;
    headers += device->headers();
    device_buffers.bound_bytes += lanes.all_device_bytes();
    pinned_buffers.bound_bytes += lanes.all_pinned_bytes();
  }
  add("headers", headers);
  add("device buffers", device_buffers);
  add("pinned buffers", pinned_buffers);
  return kept;
}

std::vector<EngineDevice> Dispatcher::devices() const {
  std::vector<EngineDevice> list;
  for (const auto& device : devices_) {
    list.push_back({device->lanes.ordinal, device->lanes.name, device->lost.load()});
  }
  return list;
}

}  // namespace framewire::engine
