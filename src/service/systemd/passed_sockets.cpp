#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <base/options_values.hpp>
#include <cstdlib>
#include <limits>
#include <service/systemd/passed_sockets.hpp>
#include <string_view>

namespace framewire::service::systemd {
namespace {

constexpr int kFirst = 3;  // sd_listen_fds(3): SD_LISTEN_FDS_START
constexpr int kMaxSockets = 64;

tl::unexpected<Status> refuse(const char* about, std::string message) {
  return fail(Status(StatusCode::kInvalidInput, std::move(message)).about(about));
}

// systemd allows letters, digits and some signs; what is printed must not break lines.
bool is_name(std::string_view name) {
  return name.size() <= 255 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (true) {
    const auto colon = text.find(':');
    names.emplace_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return names;
    text.remove_prefix(colon + 1);
  }
}

}  // namespace

Result<std::vector<PassedSocket>> take_sockets(const PassedText& text, pid_t self, int first) {
  std::vector<PassedSocket> sockets;
  pid_t pid = 0;
  constexpr pid_t kMaxPid = std::numeric_limits<pid_t>::max();
  if (text.pid == nullptr || text.count == nullptr) return sockets;
  if (!options::parse_integer<pid_t>(text.pid, 1, kMaxPid, pid)) {
    return refuse("LISTEN_PID", "accepted: the number of a process");
  }
  if (pid != self) return sockets;
  int count = 0;
  if (!options::parse_integer(text.count, 0, kMaxSockets, count)) {
    return refuse("LISTEN_FDS", fmt::format("accepted: a whole number from 0 to {}", kMaxSockets));
  }
  std::vector<std::string> names(static_cast<std::size_t>(count), "unknown");
  if (text.names != nullptr && count != 0) names = split_names(text.names);
  if (names.size() != static_cast<std::size_t>(count) ||
      !std::all_of(names.begin(), names.end(), is_name)) {
    return refuse("LISTEN_FDNAMES", fmt::format("accepted: {} names joined by colons", count));
  }
  for (int i = 0; i < count; ++i) {
    const int fd = first + i;
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return refuse("LISTEN_FDS", fmt::format("descriptor {} is not open", fd));
    }
    sockets.push_back({base::FileDescriptor(fd), std::move(names[static_cast<std::size_t>(i)])});
  }
  return sockets;
}

Result<std::vector<PassedSocket>> take_sockets() {
  const PassedText text{std::getenv("LISTEN_PID"), std::getenv("LISTEN_FDS"),
                        std::getenv("LISTEN_FDNAMES")};
  auto sockets = take_sockets(text, ::getpid(), kFirst);
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  return sockets;
}

}  // namespace framewire::service::systemd
