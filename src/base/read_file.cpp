#include <unistd.h>
#include <algorithm>
#include <base/read_file.hpp>
#include <cerrno>

namespace framewire::base {
namespace {

template <typename Read>
ReadBytes uninterrupted(const Read& read) noexcept {
  for (;;) {
    const ssize_t got = read();
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return tl::unexpected<int>(errno);
  }
}

template <typename Read>
ReadBytes fill(std::span<std::uint8_t> into, const Read& read) noexcept {
  std::size_t done = 0;
  while (done < into.size()) {
    const auto got = uninterrupted([&] { return read(done, into.subspan(done)); });
    if (!got) return got;
    if (*got == 0) break;
    done += *got;
  }
  return done;
}

}  // namespace

ReadBytes read_some(int fd, std::span<std::uint8_t> into) noexcept {
  return uninterrupted([&] { return ::read(fd, into.data(), into.size()); });
}

ReadBytes read_full(int fd, std::span<std::uint8_t> into) noexcept {
  return fill(into, [&](std::size_t, std::span<std::uint8_t> rest) {
    return ::read(fd, rest.data(), rest.size());
  });
}

ReadBytes read_full_at(int fd, std::uint64_t offset, std::span<std::uint8_t> into) noexcept {
  return fill(into, [&](std::size_t done, std::span<std::uint8_t> rest) {
    return ::pread(fd, rest.data(), rest.size(), static_cast<off_t>(offset + done));
  });
}

tl::expected<std::string, int> read_text(int fd, std::size_t max_bytes) {
  constexpr std::size_t kFirstBytes = 4'096;
  std::string text;
  for (std::size_t filled = 0; filled < max_bytes;) {
    text.resize(std::min(max_bytes, std::max(kFirstBytes, filled * 2)));
    const auto got = read_full(fd, bytes_of(text).subspan(filled));
    if (!got) return tl::unexpected<int>(got.error());
    filled += *got;
    if (filled == text.size()) continue;
    text.resize(filled);
    break;
  }
  return text;
}

}  // namespace framewire::base
