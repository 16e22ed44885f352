// Sets of a block's coefficients as 64-bit masks.
#pragma once

#include <cstdint>

namespace framewire::codec::turbo {

/// The k-th coefficient in the order sent. The first one has the highest bit, as the first bit of a
/// stream has in EntropyBits: so correction bits go to their places by one bit deposit.
[[nodiscard]] constexpr std::uint64_t mask_bit(int k) { return std::uint64_t{1} << 63 >> k; }

/// Coefficients `first` to `last` in the order sent.
[[nodiscard]] constexpr std::uint64_t mask_band(int first, int last) {
  return (~std::uint64_t{0} >> first) & (~std::uint64_t{0} << (63 - last));
}

}  // namespace framewire::codec::turbo
