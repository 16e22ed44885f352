#include <bit>
#include <codec/cuda/picture/filter_index.hpp>

namespace framewire::codec::cuda {

std::size_t FilterIndex::Hash::operator()(const Key& key) const noexcept {
  std::uint64_t hash = static_cast<std::uint64_t>(key.kernel);
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
    hash ^= hash >> 32;
  };
  const auto pair = [](std::int32_t high, std::int32_t low) {
    return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low);
  };
  mix(pair(key.axis.in_size, key.axis.out_size));
  mix(std::bit_cast<std::uint64_t>(key.axis.origin));
  mix(std::bit_cast<std::uint64_t>(key.axis.step));
  mix(pair(key.part.out_first, key.part.out_count));
  mix(pair(key.part.in_first, key.part.in_count));
  return hash;
}

}  // namespace framewire::codec::cuda
