// Device memory that pictures keep: blocks of a bounded pool.
#pragma once

#include <cstdint>
#include <framewire/device.hpp>
#include <gpu/buffer.hpp>
#include <gpu/stream.hpp>
#include <memory>
#include <mutex>
#include <vector>

namespace framewire {

/// A block of device memory, and the points in streams up to which it is in use. Its owners are the
/// copies of one image. Thread-safe, save for data() and bytes(), which do not change.
struct DeviceImage::Memory {
 public:
  Memory(int device, gpu::Buffer buffer) noexcept : device_(device), buffer_(std::move(buffer)) {}
  /// Waits for what it is in use for.
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::uint8_t* data() const noexcept { return buffer_.data(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return buffer_.bytes(); }

  /// It is in use until the device gets to where `stream` is now.
  [[nodiscard]] Result<void> record(cudaStream_t stream);
  /// Whether the device has got there.
  [[nodiscard]] bool is_idle();
  /// Lets a stream wait until the device has got there.
  [[nodiscard]] Result<void> order(const gpu::Stream& stream);

 private:
  int device_;
  gpu::Buffer buffer_;
  std::mutex mutex_;
  std::vector<gpu::Event> uses_;
};

namespace engine {

/// Lends blocks to images and takes them back from the last copy of each; keeps them for images to
/// come. Thread-safe. Outlives its decoder as long as there are images: what they give back then is
/// freed.
class ImagePool {
 public:
  using Block = std::shared_ptr<DeviceImage::Memory>;

  /// @param bound_bytes  of all blocks, lent and kept
  ImagePool(int device, std::uint64_t bound_bytes);
  ~ImagePool();
  ImagePool(const ImagePool&) = delete;
  ImagePool& operator=(const ImagePool&) = delete;

  /// A block that `stream` may write to. The device must be the calling thread's current one.
  /// Takes, in this order: a kept block that is idle and not much larger; a new one, for which
  /// other idle ones are freed if there is no room; a kept one that is still in use, for which
  /// `stream` then waits.
  /// @return busy where the bound or the device's memory is reached; device_lost
  [[nodiscard]] Result<Block> take(std::uint64_t bytes, const gpu::Stream& stream);
  /// Keeps nothing any more.
  void retire() noexcept;
  /// Bytes of all blocks, lent and kept.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace engine
}  // namespace framewire
