// A batch of JPEGs through the GPU: bytes in, bytes (or planes) out, one synchronisation.
#pragma once

#include <array>
#include <codec/cuda/batch_plan.hpp>
#include <framewire/status.hpp>
#include <gpu/buffer.hpp>
#include <gpu/stream.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace framewire::codec::cuda {

/// Stages as they are timed, in order of execution.
enum class Stage : std::uint8_t {
  kCopyIn,
  kUnstuff,
  kSynchronise,
  kOffsets,
  kWrite,
  kDc,
  kInverse,
  kResample,
  kForward,
  kEncode,
  kFinish,
  kCount,
};
inline constexpr std::size_t kStageCount = static_cast<std::size_t>(Stage::kCount);
[[nodiscard]] std::string_view to_string(Stage stage) noexcept;

/// What became of one image of a batch.
struct ImageResult {
  std::uint32_t status = 0;             ///< StatusBit; 0: done. Otherwise the CPU must take it.
  std::span<const std::uint8_t> bytes;  ///< host, the finished stream; empty for decode only
};

/// A decoded plane in device memory.
struct DevicePlane {
  const std::uint8_t* samples = nullptr;  ///< device, [height_px][pitch_bytes]
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
  std::uint32_t pitch_bytes = 0;
};

/// One batch in flight at a time, on a stream of its own; several objects overlap copies and
/// kernels. Not thread-safe; each object belongs to one thread. Memory grows to the largest batch
/// seen and is then kept.
class Transcoder {
 public:
  /// On the calling thread's current device.
  /// @param timed  records an event behind each stage, for stage_us()
  [[nodiscard]] static Result<Transcoder> make(bool timed = false);

  /// Gathers, copies and enqueues a batch; returns before the device has finished.
  /// @param items  each accepted by check_item(); their files' bytes are copied before return. All
  ///               with a plan, or all without (decode only)
  /// @return busy where memory ran out, device_lost, internal for an empty batch
  [[nodiscard]] Result<void> enqueue(std::span<const Item> items);
  /// Waits for the batch. Results and planes stay valid until the next enqueue().
  [[nodiscard]] Result<void> wait();

  [[nodiscard]] ImageResult result(std::size_t image) const;
  /// @param component  in plan order
  [[nodiscard]] DevicePlane plane(std::size_t image, std::size_t component) const;
  /// For tests: coefficients of the batch as the kernels left them.
  [[nodiscard]] const BatchPlan& batch() const noexcept { return plan_; }
  [[nodiscard]] std::uint8_t* device_base() const noexcept { return device_.data(); }
  /// Microseconds of each stage of the last batch; zeros unless timed.
  [[nodiscard]] Result<std::array<double, kStageCount>> stage_us() const;
  [[nodiscard]] std::size_t device_bytes() const noexcept { return device_.bytes(); }

 private:
  explicit Transcoder(gpu::Stream stream) : stream_(std::move(stream)) {}
  [[nodiscard]] Result<void> reserve();
  [[nodiscard]] Result<void> launch();
  void launch_decode(const BatchView& view);
  void launch_inverse(const BatchView& view);
  void launch_output(const BatchView& view);
  void mark(std::size_t event);

  gpu::Stream stream_;
  std::vector<gpu::Event> events_;
  BatchPlan plan_;
  gpu::Buffer staging_;
  gpu::Buffer device_;
  gpu::Buffer output_;  ///< records, then packed streams; written by the device
  std::uint64_t records_bytes_ = 0;
  std::vector<std::uint32_t> statuses_;
  gpu::Buffer host_status_;
  bool outputs_ = false;
};

}  // namespace framewire::codec::cuda
