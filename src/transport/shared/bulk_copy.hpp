// Copies of payloads that are too large for a cache to hold until they are used.
#pragma once

#include <base/stream_copy.hpp>
#include <cstddef>

namespace framewire::transport::shared {

/// Payloads of at least so many bytes are put in place past the caches. @see copy_past_caches()
inline constexpr std::size_t kBeyondCaches = std::size_t{32} << 20;

/// base::stream_copy() that allows no bytes.
inline void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  base::stream_copy(reinterpret_cast<std::uint8_t*>(to),
                    reinterpret_cast<const std::uint8_t*>(from), bytes);
}

}  // namespace framewire::transport::shared
