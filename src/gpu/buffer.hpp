// Owners of device memory and of pinned host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <memory>

namespace framewire::gpu {

enum class MemoryKind : std::uint8_t {
  kDevice,        ///< device memory
  kPinned,        ///< host memory that the device copies from and to at full speed
  kPinnedMapped,  ///< the same, which kernels can also write through the same address
};

/// One allocation; move-only, freed on destruction.
class Buffer {
 public:
  Buffer() = default;
  /// @return busy where memory ran out; device_lost for other failures
  [[nodiscard]] static Result<Buffer> make(MemoryKind kind, std::size_t bytes);

  [[nodiscard]] std::uint8_t* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Makes the buffer at least `bytes` large; contents are lost if it grows. Synchronises then.
  [[nodiscard]] Result<void> reserve(MemoryKind kind, std::size_t bytes);

 private:
  struct Free {
    MemoryKind kind;
    void operator()(std::uint8_t* data) const noexcept;
  };
  std::unique_ptr<std::uint8_t, Free> data_{nullptr, Free{MemoryKind::kDevice}};
  std::size_t bytes_ = 0;
};

}  // namespace framewire::gpu
