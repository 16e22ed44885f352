// What serve --local and serve --remote-clients have in common.
#pragma once

#include <cstddef>
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

/// Logs who comes and goes as a line of JSON.
/// @param event     of a LocalServer or a RemoteServer
/// @param kind      "local" or "remote"
/// @param describe  (Json& line): adds who it is
template <typename Event, typename Describe>
void log_client(const Event& event, std::string_view kind, const Describe& describe) {
  const std::string_view what = event.kind == Event::Kind::kConnected ? "connected"
                                : event.kind == Event::Kind::kRefused ? "refused"
                                                                      : "ended";
  Json line;
  line["event"] = std::string(kind).append(" client ").append(what);
  describe(line);
  if (event.kind != Event::Kind::kConnected) line["reason"] = event.status.to_string();
  put(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace framewire::app
