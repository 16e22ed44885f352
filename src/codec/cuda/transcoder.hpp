// A batch of JPEGs through the GPU: bytes in, bytes (or planes) out, one synchronisation.
#pragma once

#include <array>
#include <codec/cuda/batch_plan.hpp>
#include <codec/cuda/device_shared.hpp>
#include <codec/cuda/timeline.hpp>
#include <framewire/device_plane.hpp>
#include <framewire/status.hpp>
#include <gpu/graph_launcher.hpp>
#include <gpu/pinned_blocks.hpp>
#include <gpu/stream.hpp>
#include <memory>
#include <span>

namespace framewire::codec::cuda {

/// What became of one image of a batch.
struct ImageResult {
  std::uint32_t status = 0;             ///< StatusBit; 0: done. Otherwise the CPU must take it.
  std::span<const std::uint8_t> bytes;  ///< host, the finished stream; empty without Item::encode
  int quality = 0;                      ///< that max_bytes led to; 0: no bound, the planned one
  bool missed_max_bytes = false;        ///< quality 1 was written and is too large
};

/// A decoded plane of a batch to be copied to memory of somebody else's.
struct PlaneCopy {
  std::size_t image = 0;
  std::size_t component = 0;  ///< as of Transcoder::plane()
  std::uint8_t* to = nullptr;
  std::size_t pitch_bytes = 0;
};

/// One batch in flight at a time, on a stream of its own; several objects overlap copies and
/// kernels. Not thread-safe; each object belongs to one thread. Memory grows to the largest batch
/// seen and is then kept.
class Transcoder {
 public:
  /// On the calling thread's current device.
  /// @param timed  records an event behind each stage, for stage_us()
  [[nodiscard]] static Result<Transcoder> make(bool timed = false, const Tuning& tuning = {});

  /// Gathers, copies and enqueues a batch; returns before the device has finished.
  /// Waits first for a batch that nobody has waited for.
  /// @param items  each accepted by check_item(). Host memory is copied before the call returns;
  ///               pinned files must stay until wait() has returned
  /// @return busy where memory ran out, device_lost, internal for an empty batch
  [[nodiscard]] Result<void> enqueue(std::span<const Item> items);
  /// Enqueues copies within the device behind the batch, to be awaited with it. @return device_lost
  [[nodiscard]] Result<void> copy_planes(std::span<const PlaneCopy> copies);
  /// What the caller has enqueued on stream() since belongs to the batch: wait() awaits it, too,
  /// asleep. @return device_lost where enqueuing failed
  [[nodiscard]] Result<void> extend();
  /// Waits for the batch, and enqueues first what enqueue() has left to it (enqueue_in_parts()).
  /// Results and planes stay valid until the next enqueue().
  [[nodiscard]] Result<void> wait();

  /// Batches enqueued from now on begin after the work that `stream` holds now. Does not block.
  /// @return device_lost
  [[nodiscard]] Result<void> wait_for(cudaStream_t stream);
  /// Work enqueued on `stream` from now on begins after the batches enqueued so far, and may read
  /// their planes until the next enqueue(). Before that, wait_for() must order the next batch
  /// behind such reading. Does not block. @return device_lost
  [[nodiscard]] Result<void> make_wait(cudaStream_t stream);

  [[nodiscard]] const Tuning& tuning() const noexcept { return tuning_; }
  /// Where batches are enqueued.
  [[nodiscard]] const gpu::Stream& stream() const noexcept { return stream_; }
  /// What became of an image; call it after wait().
  [[nodiscard]] ImageResult result(std::size_t image) const;
  /// A decoded plane. @param component  in the plan's order; without a plan, the frame's
  [[nodiscard]] DevicePlane plane(std::size_t image, std::size_t component) const;
  /// A plane of the output picture, for items with a plan. @param component  of the output
  [[nodiscard]] DevicePlane output_plane(std::size_t image, std::size_t component) const;
  /// For tests: a decoded plane with its coefficients, as the kernels left them.
  [[nodiscard]] PlaneDesc decoded_plane(std::size_t image, std::size_t component) const;
  [[nodiscard]] const BatchPlan& batch() const noexcept { return plan_; }
  /// Microseconds of each stage of the last batch; zeros unless timed.
  [[nodiscard]] Result<std::array<double, kStageCount>> stage_us() const {
    return timeline_.stage_us();
  }
  [[nodiscard]] std::size_t device_bytes() const noexcept { return device_.bytes(); }
  [[nodiscard]] std::size_t pinned_bytes() const noexcept {
    return staging_.bytes() + output_.bytes() + host_status_.bytes();
  }
  /// Allocates device memory for batches to come, and an eighth of it of each pinned buffer, which
  /// is what photographs take: 1920×1080 → 480×270 an eighth up and a twentieth back.
  /// @return busy where memory ran out, device_lost
  [[nodiscard]] Result<void> reserve_ahead(std::uint64_t device_bytes);
  /// From now on wait() enqueues what waits for the chains of progressive files, when they are
  /// over: until then other streams have the hardware queue. What orders or extends batches on the
  /// stream is not to be called then.
  void enqueue_in_parts() noexcept { in_parts_ = true; }
  /// Bound on the device memory that is allocated ahead of need.
  void set_max_device_bytes(std::uint64_t bytes) noexcept { max_device_bytes_ = bytes; }
  /// What this object shares with others of its device. Before the first batch; with `copies` or
  /// `memory` wait_for() is not to be called, whose order those do not see.
  void share(DeviceShared shared) noexcept {
    shared_ = std::move(shared);
    device_.set_pool(shared_.memory);
    for (gpu::PinnedBuffer* buffer : {&staging_, &output_, &host_status_}) {
      buffer->set_pool(shared_.pinned);
    }
  }

 private:
  Transcoder(gpu::Stream stream, gpu::Event order, gpu::Event over, gpu::Event copied,
             Timeline timeline, const Tuning& tuning)
      : stream_(std::move(stream)),
        order_(std::move(order)),
        over_(std::move(over)),
        copied_(std::move(copied)),
        timeline_(std::move(timeline)),
        tuning_(tuning),
        plan_(tuning),
        launcher_(tuning.graph_credit_us) {}
  [[nodiscard]] Result<void> reserve();
  [[nodiscard]] Result<void> reserve_device(std::uint64_t bytes);
  [[nodiscard]] Result<void> run();
  void enqueue_parts(const StageRun& run, unsigned first, unsigned end);
  [[nodiscard]] Result<void> enqueue_other_parts();
  [[nodiscard]] Result<void> record_end();
  [[nodiscard]] gpu::Memory memory() const { return {device_.data(), plan_.arena()}; }

  gpu::Stream stream_;
  gpu::Event order_;   ///< between this stream and a caller's
  gpu::Event over_;    ///< the last batch, where it is awaited asleep
  gpu::Event copied_;  ///< its inputs, where they come through DeviceShared::copies
  Timeline timeline_;
  Tuning tuning_;
  BatchPlan plan_;
  gpu::PinnedBuffer staging_;
  gpu::StreamBuffer device_;
  gpu::PinnedBuffer output_;  ///< records, then packed streams; written by the device
  std::uint64_t records_bytes_ = 0;
  gpu::PinnedBuffer host_status_;
  std::uint64_t max_device_bytes_ = UINT64_MAX;
  DeviceShared shared_;
  EntropyLoad::Share load_share_;  ///< of the batch in flight
  gpu::GraphLauncher launcher_;
  bool in_parts_ = false;
  unsigned next_part_ = 0;  ///< of the batch in flight
  bool in_flight_ = false;
  bool asleep_ = false;  ///< whether over_ is the batch in flight
};

}  // namespace framewire::codec::cuda
