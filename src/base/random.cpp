#include <fmt/format.h>
#include <sys/random.h>
#include <base/random.hpp>
#include <cerrno>
#include <cstring>

namespace framewire::base {

Result<void> fill_random(std::span<std::byte> bytes) {
  if (::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) return {};
  return fail(StatusCode::kIoError,
              fmt::format("the system has no random bytes: {}", std::strerror(errno)));
}

}  // namespace framewire::base
