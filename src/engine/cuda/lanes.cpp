// Lanes on CUDA devices.
#include <fmt/format.h>
#include <algorithm>
#include <base/cores.hpp>
#include <base/start_thread.hpp>
#include <codec/cuda/cuda_batch_codec.hpp>
#include <engine/cuda/nvjpeg_batch_codec.hpp>
#include <engine/device_lanes.hpp>
#include <gpu/buffer.hpp>
#include <gpu/device.hpp>
#include <memory>
#include <new>

namespace framewire::engine {
namespace {

/// The oldest architecture for which this is built and measured (Turing).
constexpr int kMinComputeMajor = 7;
constexpr int kMinComputeMinor = 5;
/// So many batches in work hide each other's copies and waits; fewer on hosts with fewer cores, as
/// each has a thread of its own. Measured (H200, 16 cores, 1920×1080 → 480×270, in groups; images/s
/// with 1,024, 2,048 and 4,096 requests under way):
///   16  102,100  107,800  115,100
///   20  108,600  114,600  116,000
///   24  111,300  116,100  116,200
constexpr unsigned kMaxLanes = 24;
/// More progressive lanes than these would share hardware queues.
constexpr unsigned kMaxProgressiveLanes = 16;
constexpr unsigned kMinLanes = 2;
/// Shares of memory for a lane and the one for progressive files that comes with it.
constexpr unsigned kShares = 1 + kProgressiveShare;
/// nvJPEG keeps megabytes of pinned memory for every image that it encodes at once, and all its
/// objects share one set of JPEG engines: a few lanes with batches of 64 keep those busy.
constexpr unsigned kNvjpegLanes = 4;
constexpr unsigned kNvjpegBatch = 64;
constexpr std::size_t kMaxImages = 512;
/// Less than this and a lane cannot hold a batch worth the name.
constexpr std::uint64_t kLaneBytes = 256u << 20;

std::string names_of(const std::vector<gpu::DeviceFacts>& facts) {
  std::string text;
  for (const gpu::DeviceFacts& f : facts) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", f.ordinal, f.name);
  }
  return text;
}

Result<std::vector<gpu::DeviceFacts>> choose(const std::vector<gpu::DeviceFacts>& all,
                                             const std::vector<int>& wanted) {
  std::vector<gpu::DeviceFacts> chosen;
  for (const int ordinal : wanted) {
    const auto found = std::find_if(
        all.begin(), all.end(), [&](const gpu::DeviceFacts& f) { return f.ordinal == ordinal; });
    if (found == all.end()) {
      return fail(Status(StatusCode::kInvalidInput,
                         fmt::format("found {}; this machine has {}", ordinal, names_of(all)))
                      .about("device"));
    }
    chosen.push_back(*found);
  }
  if (wanted.empty()) chosen = all;
  const auto too_old = [](const gpu::DeviceFacts& f) {
    return std::pair(f.compute_major, f.compute_minor) <
           std::pair(kMinComputeMajor, kMinComputeMinor);
  };
  std::erase_if(chosen, too_old);
  if (chosen.empty()) {
    return fail(Status(StatusCode::kUnsupported,
                       fmt::format("found {}; compute capability {}.{} or later is needed",
                                   names_of(all), kMinComputeMajor, kMinComputeMinor))
                    .about("device"));
  }
  return chosen;
}

unsigned lanes_of(const EngineOptions& options, std::size_t devices, std::uint64_t memory) {
  if (options.streams != 0) return options.streams;
  const auto cores = base::usable_cores();
  const auto by_cores =
      std::clamp(cores * 3 / 2 / static_cast<unsigned>(devices), kMinLanes, kMaxLanes);
  if (options.codec == CodecKind::kNvjpeg) return std::min(by_cores, kNvjpegLanes);
  const auto by_memory = std::max<std::uint64_t>(1, memory / kLaneBytes / kShares);
  return static_cast<unsigned>(std::min<std::uint64_t>(by_cores, by_memory));
}

/// As many as other lanes, or fewer where a lane would get less than kLaneBytes.
unsigned progressive_lanes_of(unsigned lanes, std::uint64_t memory) {
  const std::uint64_t shares = memory / kLaneBytes;
  const std::uint64_t left = shares > lanes ? (shares - lanes) / kProgressiveShare : 0;
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(left, 1, std::min(lanes, kMaxProgressiveLanes)));
}

/// On a thread of its own: the caller's keeps its current device, or stays without one.
/// @param make  may throw std::bad_alloc
/// @return also busy, where no thread can be started or memory runs out
template <typename Make>
auto on_device(int ordinal, const Make& make) -> decltype(make()) {
  decltype(make()) made = fail(StatusCode::kBusy, "memory ran out");
  auto started = base::start_thread("fw-pin", [&]() noexcept {
    try {
      const auto used = gpu::use_device(ordinal);
      made = used ? make() : fail(used.error());
    } catch (const std::bad_alloc&) {
      // It stays as it was.
    }
  });
  if (!started) return fail(started.error());
  started->join();
  return made;
}

Result<HostMemory> allocate_pinned(int ordinal, std::size_t bytes) {
  return on_device(ordinal, [&]() -> Result<HostMemory> {
    auto made = gpu::Buffer::make(gpu::BufferKind::kPinned, bytes);
    if (!made) return fail(made.error());
    const auto buffer = std::make_shared<gpu::Buffer>(std::move(*made));
    return HostMemory(buffer, buffer->data());
  });
}

Result<std::shared_ptr<void>> pin(int ordinal, std::span<std::uint8_t> memory) {
  return on_device(ordinal, [&]() -> Result<std::shared_ptr<void>> {
    auto made = gpu::PinnedRange::make(memory);
    if (!made) return fail(made.error());
    return std::make_shared<gpu::PinnedRange>(std::move(*made));
  });
}

/// On the calling thread's current device.
/// @param memory, pinned  bytes that all of its lanes may have
Result<codec::cuda::DeviceShared> share_device(std::uint64_t memory, std::uint64_t pinned) {
  codec::cuda::DeviceShared shared;
  shared.pinned = std::make_shared<gpu::PinnedBlocks>(pinned);
  shared.load = std::make_shared<codec::cuda::EntropyLoad>();
  auto copies = gpu::CopyStreams::make();
  if (!copies) return fail(copies.error());
  shared.copies = std::make_shared<gpu::CopyStreams>(std::move(*copies));
  auto pool = gpu::MemoryPool::make(memory);
  if (pool) {
    shared.memory = std::make_shared<const gpu::MemoryPool>(std::move(*pool));
  } else if (pool.error().code() != StatusCode::kUnsupported) {
    return fail(pool.error());
  }
  return shared;
}

Result<DeviceLanes> lanes_on(const gpu::DeviceFacts& facts, const EngineOptions& options,
                             std::size_t devices) {
  if (auto ok = gpu::use_device(facts.ordinal); !ok) return fail(ok.error());
  const auto free = gpu::free_bytes();
  if (!free) return fail(free.error());
  const std::uint64_t memory =
      options.gpu_memory_bytes != 0 ? options.gpu_memory_bytes : *free / 4 * 3;
  DeviceLanes lanes;
  lanes.ordinal = facts.ordinal;
  lanes.name = facts.name;
  const bool nvjpeg = options.codec == CodecKind::kNvjpeg;
  lanes.kind = nvjpeg ? CodecKind::kNvjpeg : CodecKind::kCuda;
  lanes.capabilities.scaled_decode = !nvjpeg;
  lanes.lanes = lanes_of(options, devices, memory);
  if (!nvjpeg) lanes.progressive_lanes = progressive_lanes_of(lanes.lanes, memory);
  lanes.lane_bytes = memory / (lanes.lanes + kProgressiveShare * lanes.progressive_lanes);
  lanes.max_images = nvjpeg ? kNvjpegBatch : kMaxImages;
  const int ordinal = facts.ordinal;
  lanes.reads_scans_only = !nvjpeg;
  if (!nvjpeg) {
    lanes.allocate_input = [ordinal](std::size_t bytes) { return allocate_pinned(ordinal, bytes); };
    lanes.pin_input = [ordinal](std::span<std::uint8_t> range) { return pin(ordinal, range); };
  }
  const std::uint64_t bound = lanes.lane_bytes_of(LaneKind::kAny);
  const std::uint64_t progressive_bound = lanes.lane_bytes_of(LaneKind::kProgressive);
  const std::uint64_t warm = std::min(options.warm_bytes / lanes.lanes, lanes.lane_bytes);
  const bool timed = options.timed;
  const std::uint64_t pinned = lanes.all_pinned_bytes();
  auto shared = share_device(memory, pinned);
  if (!shared) return fail(shared.error());
  lanes.pinned_bytes = [blocks = shared->pinned] { return blocks->bytes(); };
  lanes.make_codec = [=, shared = std::move(*shared)](
                         LaneKind kind) -> Result<std::unique_ptr<codec::BatchCodec>> {
    if (auto ok = gpu::use_device(ordinal); !ok) return fail(ok.error());
#ifdef FRAMEWIRE_HAS_NVJPEG
    if (nvjpeg) return make_nvjpeg_batch_codec(bound);
#endif
    const bool any = kind == LaneKind::kAny;
    if (!any) codec::load_progressive_kernels();
    return codec::make_cuda_batch_codec(timed, any ? bound : progressive_bound, shared,
                                        any ? warm : 0);
  };
  return lanes;
}

Result<std::vector<gpu::DeviceFacts>> list_chosen(const EngineOptions& options) {
#ifndef FRAMEWIRE_HAS_NVJPEG
  if (options.codec == CodecKind::kNvjpeg) {
    return fail(Status(StatusCode::kUnsupported,
                       "this build has no nvJPEG; it has auto, turbo, reference and cuda")
                    .about("codec"));
  }
#endif
  gpu::ask_for_hardware_queues();
  const auto all = gpu::list_devices();
  if (!all) return fail(all.error());
  return choose(*all, options.devices);
}

}  // namespace

Result<void> check_devices(const EngineOptions& options) {
  const auto chosen = list_chosen(options);
  return chosen ? Result<void>() : fail(chosen.error());
}

Result<std::vector<DeviceLanes>> find_devices(const EngineOptions& options) {
  const auto chosen = list_chosen(options);
  if (!chosen) return fail(chosen.error());
  std::vector<DeviceLanes> devices;
  for (const gpu::DeviceFacts& facts : *chosen) {
    auto lanes = lanes_on(facts, options, chosen->size());
    if (!lanes) return fail(lanes.error());
    devices.push_back(std::move(*lanes));
  }
  return devices;
}

}  // namespace framewire::engine
