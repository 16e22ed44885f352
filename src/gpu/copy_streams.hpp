// Copies to one device for the work of many streams.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <atomic>
#include <framewire/status.hpp>
#include <gpu/copy_list.hpp>
#include <gpu/stream.hpp>
#include <memory>
#include <mutex>

namespace framewire::gpu {

/// Streams for copies alone, which all other streams of a device use by turns. Lists in more
/// hardware queues than these made fewer images/s when all outputs of a batch were stored at once
/// (kPackBlocks); since they are not, it has not been measured again. One list is copied at a time,
/// whatever streams there are.
///
/// Measured (16 streams, 32 hardware queues, 4,000 images of 1920×1080 under way from pinned
/// memory; 1,000 images/s, in two orders of arrival):
///   lists in          their own streams   1 here   2    3    4    6    8
///   H100                          59, 63       53   70   67   69   71   75, 91 (batches of 256)
///   H200                          62 to 65                             81 to 92
/// 8 on the H100 comes from another run than the rest of its row. Files that the host gathers into
/// one copy a batch made 97 to 99 there; what that costs in time of the host was not measured.
/// Thread-safe.
class CopyStreams {
 public:
  /// On the calling thread's current device. @return device_lost
  [[nodiscard]] static Result<CopyStreams> make();

  /// Enqueues the copies of a list. Work enqueued on `stream` from then on begins behind them; they
  /// wait for nothing that `stream` holds already. cudaGetLastError() tells whether that worked.
  /// @param copied  an event of the caller's, to be left alone until the copies are over
  void enqueue(CopyList& copies, const Event& copied, const Stream& stream);

 private:
  static constexpr std::size_t kStreams = 8;

  struct Slot {
    Stream stream;
    std::mutex mutex;  ///< so that an event stands behind its own list, and no other
    explicit Slot(Stream made) : stream(std::move(made)) {}
  };

  CopyStreams() = default;

  std::array<std::unique_ptr<Slot>, kStreams> slots_;
  std::unique_ptr<std::atomic<unsigned>> next_ = std::make_unique<std::atomic<unsigned>>(0);
};

}  // namespace framewire::gpu
