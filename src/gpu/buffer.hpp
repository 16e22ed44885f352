// Owners of device memory and of pinned host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <memory>
#include <span>

namespace framewire::gpu {

enum class BufferKind : std::uint8_t {
  kDevice,        ///< device memory
  kPinned,        ///< host memory that the device copies from and to at full speed
  kPinnedMapped,  ///< the same, which kernels can also write through the same address
};

/// One allocation; move-only, freed on destruction.
class Buffer {
 public:
  Buffer() = default;
  /// @return busy where memory ran out; device_lost for other failures
  [[nodiscard]] static Result<Buffer> make(BufferKind kind, std::size_t bytes);

  [[nodiscard]] std::uint8_t* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Makes the buffer at least `bytes` large. Growing loses the contents and synchronises.
  [[nodiscard]] Result<void> reserve(BufferKind kind, std::size_t bytes);

 private:
  struct Free {
    BufferKind kind;
    /// Of pages of the process's own (gpu/pinned_pages.hpp); 0: the memory is CUDA's.
    std::size_t pages_bytes;
    void operator()(std::uint8_t* data) const noexcept;
  };
  std::unique_ptr<std::uint8_t, Free> data_{nullptr, Free{BufferKind::kDevice, 0}};
  std::size_t bytes_ = 0;
};

/// Host memory of somebody else's, pinned for all devices; move-only, unpinned on destruction.
class PinnedRange {
 public:
  /// @param memory  host, readable and writable, at least one byte; stays while this lives
  /// @return invalid_input where bytes of it are pinned already; unsupported for memory that
  ///         cannot be pinned; busy where memory, or how much of it may be locked, ran out;
  ///         device_lost for other failures
  [[nodiscard]] static Result<PinnedRange> make(std::span<std::uint8_t> memory);

 private:
  struct Unpin {
    void operator()(std::uint8_t* data) const noexcept;
  };
  std::unique_ptr<std::uint8_t, Unpin> data_;
};

}  // namespace framewire::gpu
