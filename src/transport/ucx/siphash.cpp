#include <bit>
#include <cstring>
#include <transport/bytes.hpp>
#include <transport/ucx/siphash.hpp>

namespace framewire::transport::ucx {
namespace {

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() noexcept {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void absorb(std::uint64_t word) noexcept {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t siphash(const MacKey& key, std::span<const std::byte> bytes) noexcept {
  const auto k0 = load<std::uint64_t>(key.data());
  const auto k1 = load<std::uint64_t>(key.data() + 8);
  SipState state{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                 k1 ^ 0x7465646279746573};
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) state.absorb(load<std::uint64_t>(bytes.data() + i));
  std::uint64_t last = std::uint64_t{bytes.size()} << 56;
  for (std::size_t j = 0; i + j < bytes.size(); ++j) {
    last |= std::to_integer<std::uint64_t>(bytes[i + j]) << (8 * j);
  }
  state.absorb(last);
  state.v2 ^= 0xff;
  for (int i2 = 0; i2 < 4; ++i2) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace framewire::transport::ucx
