// What serve --local and serve --remote-clients have in common.
#pragma once

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <report/console.hpp>
#include <report/json.hpp>
#include <string>
#include <string_view>

namespace framewire::app {

/// Requests of such clients that may stand in the engine's queue, beside those over HTTP.
inline constexpr std::size_t kClientQueue = 1024;

/// How many of them to let in at once. On the CPU a few keep every core busy; more would only stand
/// before requests over HTTP.
[[nodiscard]] std::size_t client_requests_under_way(bool has_devices);

/// The beginning of a log line about what happened.
/// @param level  "info" or "warning"
[[nodiscard]] Json event_line(std::string_view level, std::string_view what);
/// Writes such a line, and waits for nobody: where standard error is not read lines are dropped and
/// counted, as those of requests are.
void log_event(const Json& line);

/// Has clients take no more, and waits until what they gave has been answered.
/// @param server   a LocalServer or a RemoteServer; may be none
/// @param hurried  ends the wait before its time
/// @return whether everything has been answered
template <typename ClientServer>
[[nodiscard]] bool drain_clients(std::optional<ClientServer>& server,
                                 std::chrono::milliseconds timeout,
                                 const std::atomic<bool>& hurried) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kStep{10};
  if (!server) return true;
  const auto until = Clock::now() + timeout;
  while (!server->drain(std::min(kStep, timeout))) {
    if (hurried || Clock::now() >= until) return false;
  }
  return true;
}

/// Bounds the lines about clients that are refused, of whom there may be any number: so many in a
/// window; further ones are counted, and told of by the next line. One thread at a time.
class RefusalLines {
 public:
  static constexpr std::chrono::seconds kWindow{1};
  static constexpr unsigned kMaxLines = 10;

  /// @return how many had no line since the last one that had; nothing where this one has none
  [[nodiscard]] std::optional<std::uint64_t> admit(
      std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());

 private:
  std::chrono::steady_clock::time_point begin_{};
  unsigned lines_ = 0;
  std::uint64_t untold_ = 0;
};

/// Logs who comes and goes as a line of JSON.
/// @param event     of a LocalServer or a RemoteServer
/// @param kind      "local" or "remote"
/// @param describe  (Json& line): adds who it is
template <typename Event, typename Describe>
void log_client(const Event& event, std::string_view kind, const Describe& describe) {
  const std::string_view what = event.kind == Event::Kind::kConnected ? "connected"
                                : event.kind == Event::Kind::kRefused ? "refused"
                                                                      : "ended";
  Json line = event_line(event.kind == Event::Kind::kRefused ? "warning" : "info",
                         std::string(kind).append(" client ").append(what));
  describe(line);
  if (event.kind != Event::Kind::kConnected) line["reason"] = event.status.to_string();
  if (event.kind == Event::Kind::kRefused) {
    static RefusalLines lines;  // of this kind of clients, whose events come one at a time
    const auto untold = lines.admit();
    if (!untold) return;
    if (*untold != 0) {
      line["reason"] = fmt::format("{} (and {} more connections came to nothing)",
                                   event.status.to_string(), *untold);
    }
  }
  log_event(line);
}

}  // namespace framewire::app
