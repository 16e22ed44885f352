// Hands out offsets of one allocation; the sizes are planned before anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire::gpu {

inline constexpr std::uint64_t kAlignment = 256;

/// Adds up aligned ranges. All of them lie within bytes(), which is then allocated.
class Layout {
 public:
  /// The offset of a new range. @param bytes  0 is legal
  [[nodiscard]] std::uint64_t add(std::uint64_t bytes) noexcept {
    const std::uint64_t offset = bytes_;
    bytes_ = (bytes_ + bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  template <typename T>
  [[nodiscard]] std::uint64_t add_array(std::uint64_t count) noexcept {
    return add(count * sizeof(T));
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace framewire::gpu
