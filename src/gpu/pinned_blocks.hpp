// Pinned host memory that grows without stopping the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <gpu/buffer.hpp>
#include <map>
#include <memory>
#include <mutex>

namespace framewire::gpu {

/// Blocks of pinned memory, which kernels can write, too. To free such memory waits for all work on
/// the device (cudaFreeHost(), cudaHostUnregister(); measured, 64 MB on an H100: 6 ms while it was
/// idle, and until its end while a kernel ran), so what is given back stays here for others.
/// Thread-safe.
class PinnedBlocks {
 public:
  /// For the calling thread's current device.
  /// @param bound_bytes  of all blocks; beyond it, those that nobody uses are freed
  explicit PinnedBlocks(std::uint64_t bound_bytes);
  ~PinnedBlocks();
  PinnedBlocks(const PinnedBlocks&) = delete;
  PinnedBlocks& operator=(const PinnedBlocks&) = delete;

  /// @return a block of `bytes`, or up to kMostOver times as many; busy where memory ran out;
  ///         device_lost
  [[nodiscard]] Result<Buffer> take(std::size_t bytes);
  void give_back(Buffer block) noexcept;

  /// Bytes of blocks that nobody uses now.
  [[nodiscard]] std::uint64_t kept_bytes() const;
  /// Bytes of all blocks.
  [[nodiscard]] std::uint64_t bytes() const;

  /// Sizes go up by a quarter at most, and a block may be of the next size.
  static constexpr double kMostOver = 1.25 * 1.25;

 private:
  [[nodiscard]] Buffer take_kept(std::size_t bytes);
  void free_kept() noexcept;

  const std::uint64_t bound_bytes_;
  int device_ = 0;
  mutable std::mutex mutex_;
  std::multimap<std::size_t, Buffer> kept_;
  std::uint64_t kept_bytes_ = 0;
  std::uint64_t used_bytes_ = 0;
};

/// Pinned memory that kernels can write, too; move-only.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  ~PinnedBuffer() { release(); }
  PinnedBuffer(PinnedBuffer&&) noexcept = default;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  /// From now on memory comes from `pool`. Not while any is held.
  void set_pool(std::shared_ptr<PinnedBlocks> pool) noexcept { pool_ = std::move(pool); }
  [[nodiscard]] std::uint8_t* data() const noexcept { return block_.data(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return block_.bytes(); }

  /// Makes the buffer at least `bytes` large. Growing loses the contents, and without a pool waits
  /// for the device. Nothing that uses the buffer is under way.
  /// @return busy where memory ran out; device_lost
  [[nodiscard]] Result<void> reserve(std::size_t bytes);

 private:
  void release() noexcept;

  std::shared_ptr<PinnedBlocks> pool_;
  Buffer block_;
};

}  // namespace framewire::gpu
