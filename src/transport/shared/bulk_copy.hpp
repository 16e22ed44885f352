// Copies of what no cache will hold until it is used.
#pragma once

#include <cstddef>

namespace framewire::transport::shared {

/// Payloads of at least so many bytes are put in place past the caches. @see copy_past_caches()
inline constexpr std::size_t kBeyondCaches = std::size_t{32} << 20;

/// memcpy(), with stores that do not first fetch the lines that they fill, where the processor has
/// such. The bytes are visible to other threads of the process as those of memcpy() are.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace framewire::transport::shared
