#include <fmt/format.h>
#include <sys/random.h>
#include <base/random.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace framewire::base {

Result<void> fill_random(std::span<std::byte> bytes) {
  if (::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) return {};
  return fail(StatusCode::kIoError,
              fmt::format("the system has no random bytes: {}", std::strerror(errno)));
}

std::uint64_t random_seed() noexcept {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) == sizeof seed) return seed;
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

}  // namespace framewire::base
