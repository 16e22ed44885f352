// One thread's work on a device: batch after batch through a codec of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <codec/batch_codec.hpp>
#include <cstdint>
#include <engine/device_lanes.hpp>
#include <engine/preparation.hpp>
#include <engine/work_flow.hpp>
#include <framewire/engine.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace framewire::engine {

/// What the lanes of one device share.
struct LaneDevice {
  DeviceLanes lanes;
  std::atomic<bool> lost{false};
  std::atomic<std::uint64_t> device_bytes{0};
  std::atomic<std::uint64_t> pinned_bytes{0};

  /// Sets a lane's part of headers(). @param was  its part until now; becomes `now`
  void update_headers(base::CacheUse& was, const base::CacheUse& now);
  /// Caches of headers of all lanes.
  [[nodiscard]] base::CacheUse headers() const;

 private:
  mutable std::mutex mutex_;
  base::CacheUse headers_;
};

/// What a lane has of its engine. All of it outlives the lane.
struct LaneSurroundings {
  const EngineOptions& options;
  const Preparation& preparation;
  WorkFlow& flow;
  LaneDevice& device;
  std::size_t all_lanes;  ///< of all devices
  LaneKind kind;
};

class Lane {
 public:
  /// Pinned memory that a batch of several images may take, unless it is of progressive files,
  /// which the device decodes. Lanes pin what the largest batch so far took, 0.05 to 0.6 ms a
  /// megabyte, under a lock of the driver's that holds up all other lanes: on a mix of files, where
  /// host threads send coefficients, 24 lanes pinned 10 GB in their first seconds and did little
  /// else.
  static constexpr std::uint64_t kMaxSeveralPinnedBytes = 96u << 20;

  Lane(const LaneSurroundings& surroundings, codec::BatchCodec& codec)
      : options_(surroundings.options),
        preparation_(surroundings.preparation),
        flow_(surroundings.flow),
        device_(surroundings.device),
        all_lanes_(surroundings.all_lanes),
        bound_{surroundings.device.lanes.lane_bytes_of(surroundings.kind),
               surroundings.device.lanes.lane_pinned_bytes},
        several_pinned_bytes_(surroundings.kind == LaneKind::kProgressive
                                  ? bound_.pinned_bytes
                                  : std::min(bound_.pinned_bytes, kMaxSeveralPinnedBytes)),
        codec_(codec) {}

  /// Works until the device queue is closed and empty, or the device is lost.
  void run();
  /// Takes over progressive files from the host threads where more wait for them than a device
  /// needs to be the faster way. Works until the host queue is closed, or the device is lost.
  void run_progressive();

 private:
  /// Where a request goes: into this lane's batch, or elsewhere and why.
  struct Verdict {
    enum class Kind : std::uint8_t { kReady, kHost, kHostFirst, kAwaitsConversion, kError };
    Kind kind = Kind::kReady;
    std::string reason;           ///< of kHost
    std::optional<Status> error;  ///< of kError
  };

  [[nodiscard]] Verdict prepare(Work& work);
  [[nodiscard]] Verdict examine(Work& work);
  [[nodiscard]] bool could_decode(const Work& work);
  [[nodiscard]] WorkList sort_out(WorkList& taken);
  void add(WorkPtr work, WorkList& left_over);
  void give_up(WorkPtr work, std::string reason);
  void run_batch();
  void run_progressive_batch(WorkList taken);
  void end();
  /// Counts in `device_` what `codec_` holds now.
  void count_memory(const codec::BatchMemory& memory);
  void answer(WorkPtr work, const codec::BatchOutcome& outcome, double batch_us, Answers& answers);
  void lose_device(const Status& status);

  const EngineOptions& options_;
  const Preparation& preparation_;
  WorkFlow& flow_;
  LaneDevice& device_;
  const std::size_t all_lanes_;
  const codec::BatchMemory bound_;            ///< on what a batch needs
  const std::uint64_t several_pinned_bytes_;  ///< bound on what a batch of several images pins
  codec::BatchCodec& codec_;
  std::vector<WorkPtr> batch_;
  std::vector<codec::BatchItem> items_;
  codec::BatchMemory batch_need_;  ///< of `batch_`
  codec::BatchMemory memory_;      ///< of `codec_`, as counted in `device_`
  base::CacheUse headers_;         ///< likewise
};

}  // namespace framewire::engine
