// How a buffer for an input grows of which nobody knows for sure how long it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace framewire::batch {

/// Bytes of the first buffer: `expected`, and one more to find the end by, so that an input of
/// known size is neither moved nor held twice; 4 KiB at least.
[[nodiscard]] constexpr std::size_t first_buffer_bytes(std::uint64_t expected) noexcept {
  constexpr std::uint64_t kMinBytes = 4096;
  return static_cast<std::size_t>(std::max(expected + 1, kMinBytes));
}

/// Bytes of the next one, once a buffer is full: twice as many, but no more than 1 MiB more, so
/// that what turns out longer than expected takes little more memory than it has bytes.
[[nodiscard]] constexpr std::size_t next_buffer_bytes(std::size_t filled) noexcept {
  constexpr std::size_t kMaxGrowthBytes = 1 << 20;
  return std::max(filled + std::min(filled, kMaxGrowthBytes), first_buffer_bytes(0));
}

}  // namespace framewire::batch
