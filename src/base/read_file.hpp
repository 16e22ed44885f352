// Reading from descriptors: whatever pieces the kernel gives, and whatever signals come between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tl/expected.hpp>

namespace framewire::base {

/// A count of bytes, or errno.
using ReadBytes = tl::expected<std::size_t, int>;

/// What one read() gives. @return 0 at the end
[[nodiscard]] ReadBytes read_some(int fd, std::span<std::uint8_t> into) noexcept;

/// Reads on until `into` is full. @return fewer bytes than that only at the end
[[nodiscard]] ReadBytes read_full(int fd, std::span<std::uint8_t> into) noexcept;

/// The same from an offset on, wherever the descriptor stands.
[[nodiscard]] ReadBytes read_full_at(int fd, std::uint64_t offset,
                                     std::span<std::uint8_t> into) noexcept;

/// Reads on to the end, but no more than `max_bytes`: who gives one more than is accepted learns
/// whether there are more. Memory grows with what is there. Not for secrets: nothing is wiped.
/// @return errno
[[nodiscard]] tl::expected<std::string, int> read_text(int fd, std::size_t max_bytes);

/// The bytes of a text, to read into.
[[nodiscard]] inline std::span<std::uint8_t> bytes_of(std::string& text) noexcept {
  return {reinterpret_cast<std::uint8_t*>(text.data()), text.size()};
}

}  // namespace framewire::base
