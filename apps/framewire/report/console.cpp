#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <base/utf8.hpp>
#include <batch/posix_file.hpp>
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
    if (character.bytes > 0 && !base::is_control(character.code)) {
      safe += taken;
      continue;
    }
    for (const char c : taken) safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return safe;
}

void put(std::string_view text) { (void)write_text(STDERR_FILENO, text); }

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
