#include <base/xxh3.hpp>
#include <transport/checksum.hpp>

namespace framewire::transport {

std::uint64_t checksum_of(const std::byte* bytes, std::uint64_t count) noexcept {
  return XXH3_64bits(bytes, static_cast<std::size_t>(count));
}

}  // namespace framewire::transport
