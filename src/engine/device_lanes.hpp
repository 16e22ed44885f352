// The devices that an engine uses, as factories of batch codecs.
#pragma once

#include <codec/batch_codec.hpp>
#include <cstdint>
#include <engine/input_store.hpp>
#include <framewire/engine.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace framewire::engine {

/// Input of one batch. A smaller one pays more for launches; a larger one presumably keeps less in
/// the second-level cache from one kernel to the next, which no counter has been asked about.
/// Measured (H200, 24 lanes, in groups, 4,096 under way, 8,192 with 160 MB; 1,000 images/s,
/// 1920×1080 → 480×270 but for the last row; 96 and 160 MB in another run, where 48 made the same
/// but for 1280×720, 248.5):
///   MB                  12         20         28         36         48         96        160
///   387 KB           117.7      116.6      123.0      122.1      120.2      115.0      108.5
///   its 4:4:4         96.2       93.0       89.3       90.6       87.0       81.5       81.0
///   a marker an MCU  106.0      106.3      110.9      112.4      112.3      107.2      105.2
///   1280×720         239.7      250.1      252.8      243.9      241.5      214.6      237.7
inline constexpr std::uint64_t kBatchInputBytes = 32u << 20;

/// What a lane takes: what waits for a device, or progressive files that wait for host threads.
enum class LaneKind : std::uint8_t { kAny, kProgressive };

/// Memory of a lane for progressive files, in that of another one.
inline constexpr unsigned kProgressiveShare = 2;

/// One device, on which several lanes work side by side, each with a batch in flight.
struct DeviceLanes {
  int ordinal = 0;
  std::string name;
  CodecKind kind = CodecKind::kCuda;
  plan::Capabilities capabilities;
  unsigned lanes = 1;
  /// More lanes, for batches of progressive files alone: these take fifty times as long as others.
  unsigned progressive_lanes = 0;
  std::size_t max_images = 512;  ///< in one batch
  /// Bound on the device memory of one lane's batch: see lane_bytes_of().
  std::uint64_t lane_bytes = UINT64_MAX;
  /// Bound on the pinned memory of one lane's batch; what it holds can be twice as much.
  std::uint64_t lane_pinned_bytes = 256u << 20;
  /// Pinned memory of all lanes, with what none of them uses now; empty: it is what their codecs
  /// say.
  std::function<std::uint64_t()> pinned_bytes;
  HostAllocator allocate_input;  ///< memory that this device copies from; empty: any is the same
  HostPinner pin_input;          ///< makes a caller's memory such; empty likewise
  bool reads_scans_only = true;  ///< of an input's bytes; false: the codec parses it itself
  /// Called on the lane's own thread; what it makes stays on that thread.
  std::function<Result<std::unique_ptr<codec::BatchCodec>>(LaneKind kind)> make_codec;

  [[nodiscard]] unsigned all_lanes() const noexcept { return lanes + progressive_lanes; }
  /// A batch of progressive files takes as long as its largest, however many there are: room for
  /// more of them is rate.
  [[nodiscard]] std::uint64_t lane_bytes_of(LaneKind taker) const noexcept {
    const bool more =
        taker == LaneKind::kProgressive && lane_bytes <= UINT64_MAX / kProgressiveShare;
    return more ? lane_bytes * kProgressiveShare : lane_bytes;
  }
  /// Bounds on what all lanes hold, and what lies idle.
  [[nodiscard]] std::uint64_t all_device_bytes() const noexcept {
    return lane_bytes * (lanes + kProgressiveShare * progressive_lanes);
  }
  [[nodiscard]] std::uint64_t all_pinned_bytes() const noexcept {
    return lane_pinned_bytes * 2 * all_lanes();
  }
};

/// The devices that options ask for, sized by what is free on them.
/// @return all of one kind; unsupported where this build has no such codec or the machine no such
///         device; invalid_input for an ordinal that does not exist; device_lost
[[nodiscard]] Result<std::vector<DeviceLanes>> find_devices(const EngineOptions& options);

/// Whether find_devices() would find them, as far as that is known before any is used.
[[nodiscard]] Result<void> check_devices(const EngineOptions& options);

}  // namespace framewire::engine
