// A random number generator that is a pure function of a counter and a key.
//
// Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC11: Philox4x32-10.
#pragma once

#include <array>
#include <cstdint>

namespace framewire::tensor {

/// @accuracy the paper's published vectors; tests/unit/tensor/random_crop_test.cpp
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox4x32(
    std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) noexcept {
  constexpr std::uint64_t kFirst = 0xD2511F53u;
  constexpr std::uint64_t kSecond = 0xCD9E8D57u;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = kFirst * counter[0];
    const std::uint64_t b = kSecond * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace framewire::tensor
