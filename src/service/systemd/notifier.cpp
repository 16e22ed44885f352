#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <algorithm>
#include <base/options_values.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <service/systemd/notifier.hpp>

namespace framewire::service::systemd {
namespace {

constexpr std::size_t kMaxStatusBytes = 512;

// A line break would begin another assignment.
std::string one_line(std::string_view text) {
  std::string line(text.substr(0, kMaxStatusBytes));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return line;
}

std::uint64_t monotonic_us() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

bool read_number(const char* text, std::uint64_t& out) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  return text != nullptr && options::parse_integer<std::uint64_t>(text, 0, kMax, out);
}

}  // namespace

Result<Notifier> Notifier::open(std::string_view path, std::uint64_t watchdog_us) {
  Notifier made;
  if (path.empty()) return made;
  const bool fits = path.size() > 1 && path.size() < sizeof(sockaddr_un::sun_path) &&
                    (path.front() == '/' || path.front() == '@') &&
                    path.find('\0') == std::string_view::npos;
  if (!fits) {
    return fail(Status(StatusCode::kInvalidInput,
                       fmt::format("found '{}'; accepted: a path, or @ and a name",
                                   one_line(path.substr(0, 100))))
                    .about("NOTIFY_SOCKET"));
  }
  made.socket_ = base::FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!made.socket_.valid()) return fail(StatusCode::kBusy, "no descriptor is left for a socket");
  const timeval patience{1, 0};
  (void)::setsockopt(made.socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  made.address_ = path;
  if (made.address_.front() == '@') made.address_.front() = '\0';
  made.watchdog_ = std::chrono::microseconds(watchdog_us);
  return made;
}

Result<Notifier> Notifier::from_environment() {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  std::uint64_t watchdog_us = 0;
  std::uint64_t pid = 0;
  // Without a number of a process it is meant for whoever reads it.
  const bool ours =
      std::getenv("WATCHDOG_PID") == nullptr || (read_number(std::getenv("WATCHDOG_PID"), pid) &&
                                                 pid == static_cast<std::uint64_t>(::getpid()));
  if (!ours || !read_number(std::getenv("WATCHDOG_USEC"), watchdog_us)) watchdog_us = 0;
  auto made = open(path == nullptr ? "" : path, watchdog_us);
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
  return made;
}

void Notifier::ready(std::string_view status) const noexcept try {
  if (enabled()) send(fmt::format("READY=1\nSTATUS={}", one_line(status)));
} catch (const std::bad_alloc&) {
  send("READY=1");
}

void Notifier::reloading() const noexcept {
  char message[64];
  const auto end =
      fmt::format_to_n(message, sizeof message, "RELOADING=1\nMONOTONIC_USEC={}", monotonic_us());
  send({message, end.size});
}

void Notifier::stopping(std::string_view status, std::chrono::milliseconds max_wait) const noexcept
    try {
  if (!enabled()) return;
  send(fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}\nSTATUS={}", max_wait.count() * 1000,
                   one_line(status)));
} catch (const std::bad_alloc&) {
  send("STOPPING=1");
}

void Notifier::status(std::string_view text) const noexcept try {
  if (enabled()) send(fmt::format("STATUS={}", one_line(text)));
} catch (const std::bad_alloc&) {  // a line for people
}

void Notifier::alive() const noexcept { send("WATCHDOG=1"); }

void Notifier::send(std::string_view message) const noexcept {
  if (!enabled()) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  // A name that begins with NUL ends with its length, a path with a NUL.
  const std::size_t end = address_.front() == '\0' ? 0 : 1;
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size() + end);
  (void)::sendto(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&to), length);
}

}  // namespace framewire::service::systemd
