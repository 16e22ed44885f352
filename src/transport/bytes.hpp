// Little-endian fields in byte arrays.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace framewire::transport {

static_assert(std::endian::native == std::endian::little, "fields are copied as they stand");

template <std::integral T>
[[nodiscard]] inline T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <std::integral T>
inline void store(std::byte* to, T value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace framewire::transport
