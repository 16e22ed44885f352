// Random bytes that nobody can guess, from the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>

namespace framewire::base {

/// @param bytes  at most 256, which getrandom(2) gives whole
/// @return io_error where the system has none
[[nodiscard]] Result<void> fill_random(std::span<std::byte> bytes);

/// For hashes that others must not foresee. Where the system has no random bytes, the time.
[[nodiscard]] std::uint64_t random_seed() noexcept;

/// A number other than zero. @return as fill_random()
template <typename Number>
[[nodiscard]] Result<Number> random_number() {
  Number number = 0;
  while (number == 0) {
    if (auto filled = fill_random(std::as_writable_bytes(std::span(&number, 1))); !filled) {
      return fail(filled.error());
    }
  }
  return number;
}

}  // namespace framewire::base
