#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <base/utf8.hpp>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <chrono>
#include <climits>
#include <command_line/command.hpp>
#include <mutex>
#include <optional>
#include <report/console.hpp>
#include <report/json.hpp>

namespace framewire::app {
namespace {

int write_text(int fd, std::string_view text) {
  return batch::write_all(fd, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// For close_json(): the first error of this run, and whether standard output has been used.
std::mutex g_mutex;
std::optional<Status> g_first_error;
std::atomic<bool> g_printed{false};

// For bound_wait_for_reader(); negative: no bound.
std::atomic<int> g_wait_ms{-1};

// Standard error under a descriptor that never blocks. The flag is of what was opened, which other
// processes use, too: so a pipe or a terminal is opened once more.
// @return standard error itself where that cannot be done
int open_without_blocking() {
  struct stat facts {};
  if (::fstat(STDERR_FILENO, &facts) != 0) return STDERR_FILENO;
  if (!S_ISFIFO(facts.st_mode) && ::isatty(STDERR_FILENO) == 0) return STDERR_FILENO;
  const int own = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  return own >= 0 ? own : STDERR_FILENO;
}

// Writes what finds room at once. @return as write()
ssize_t write_now(std::string_view text) {
  static const int fd = open_without_blocking();
  const ssize_t sent = ::send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  // Where it might block after all a pipe that can be written has room for so much.
  const std::size_t most = fd == STDERR_FILENO ? PIPE_BUF : text.size();
  return ::write(fd, text.data(), std::min(text.size(), most));
}

// @return how much was written until then
std::size_t write_bounded(std::string_view text, std::chrono::steady_clock::time_point deadline) {
  std::size_t written = 0;
  while (written < text.size()) {
    pollfd room{STDERR_FILENO, POLLOUT, 0};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = ::poll(&room, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t count = write_now(text.substr(written));
    if (count < 0 && errno != EAGAIN && errno != EINTR) break;
    if (count > 0) written += static_cast<std::size_t>(count);
  }
  return written;
}

void remember(const Status& status) {
  const std::lock_guard lock(g_mutex);
  if (!g_first_error) g_first_error = status;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const auto character = base::first_character(text);
    const auto taken = text.substr(0, std::max<std::size_t>(character.bytes, 1));
    text.remove_prefix(taken.size());
    if (character.bytes > 0 && !base::is_unprintable(character.code)) {
      safe += taken;
      continue;
    }
    for (const char c : taken) safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return safe;
}

// Single quotes end, escape and begin again around a quote of the text. What is not shown as it is
// takes quotes in which \xNN stands for a byte, as bash and zsh have them.
std::string shell_quoted(std::string_view text) {
  if (printable(text) == text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }
  std::string escaped;
  for (const char c : text) {
    if (c == '\'' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return "$'" + printable(escaped) + "'";
}

std::size_t put(std::string_view text) {
  static std::timed_mutex mutex;
  const int wait_ms = g_wait_ms;
  if (wait_ms < 0) return write_text(STDERR_FILENO, text) == 0 ? text.size() : 0;
  // One time for both: behind others' texts that nobody reads there would be no end of waiting.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  const std::unique_lock lock(mutex, deadline);
  return lock.owns_lock() ? write_bounded(text, deadline) : 0;
}

void bound_wait_for_reader(std::chrono::milliseconds time) {
  g_wait_ms = static_cast<int>(time.count());
}

void say(std::string_view message) { put(fmt::format("framewire: {}\n", printable(message))); }

int report(const Status& status) {
  remember(status);
  say(status.to_string());
  const bool environment =
      status.code() == StatusCode::kIoError || status.code() == StatusCode::kBusy;
  return environment ? kEnvironment : kSomeFailed;
}

int refuse(const Status& status) {
  report(status);
  return status.code() == StatusCode::kInvalidInput ? kUsage : kEnvironment;
}

int report_usage(std::string_view command, std::string_view message) {
  remember(Status(StatusCode::kInvalidInput, std::string(message)).about(std::string(command)));
  const std::string of = command.empty() ? "" : fmt::format(" {}", command);
  say(fmt::format("{}; see framewire{} --help", message, of));
  return kUsage;
}

int report_usage(std::string_view command, const Status& problem) {
  return report_usage(command, problem.message());
}

int close_json(bool json, int code) {
  if (!json || code == kAllDone || g_printed || !g_first_error) return code;
  Json error = to_json(*g_first_error);
  error["subject"] = g_first_error->subject();
  (void)print(pretty(Json({{"error", std::move(error)}})));
  return code;
}

bool print(std::string_view text) {
  g_printed = true;
  const int error = write_text(STDOUT_FILENO, text);
  if (error == 0 || error == EPIPE) return true;
  say(batch::io_error("standard output", "write", error).to_string());
  return false;
}

Result<void> write_to_stdout(std::span<const std::uint8_t> bytes) {
  const int error = batch::write_all(STDOUT_FILENO, bytes);
  if (error != 0) return fail(batch::io_error("standard output", "write", error));
  return {};
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 9.95 ? 1 : 0, kUnits[unit]);
}

}  // namespace framewire::app
