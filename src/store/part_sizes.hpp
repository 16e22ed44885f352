// How large the parts of an upload are whose size nobody knows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire::store {

inline constexpr unsigned kMaxParts = 10'000;  ///< as S3 has it

/// Bytes of part `number`, from 1 on. The first 149 have 16 MiB and each 150 that follow 16 MiB
/// more: 10,000 parts hold the 5 TiB of S3's largest object, and one of 2.3 GiB waits in no larger
/// pieces than 16 MiB.
[[nodiscard]] constexpr std::size_t part_bytes(unsigned number) noexcept {
  return (std::size_t{16} << 20) * (1 + number / 150);
}

}  // namespace framewire::store
