#include <fmt/format.h>
#include <algorithm>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/serve/clients.hpp>
#include <commands/serve/local_clients.hpp>
#include <files/file_mode.hpp>
#include <report/console.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace framewire::app {
namespace {

Result<mode_t> parse_socket_mode(const std::string& text) {
  unsigned mode = 0;
  const bool octal = !text.empty() && text.size() <= 4 &&
                     std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '7'; });
  if (octal) mode = static_cast<unsigned>(std::stoul(text, nullptr, 8));
  if (octal && mode <= 0777) return static_cast<mode_t>(mode);
  return misuse(fmt::format("--local-mode: found '{}'; accepted: 0 to 777, octal", text));
}

Result<std::vector<uid_t>> parse_uids(const std::string& text) {
  std::vector<uid_t> uids;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    uid_t uid = 0;
    if (!parse_number(rest.substr(0, comma), uid)) {
      return misuse(
          fmt::format("--local-uids: found '{}'; accepted: numbers of users, by commas", text));
    }
    uids.push_back(uid);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return uids;
}

void log_local(const service::local::LocalEvent& event) {
  log_client(event, "local", [&](Json& line) {
    line["pid"] = event.pid;
    line["uid"] = event.uid;
  });
}

}  // namespace

Result<std::optional<LocalOptions>> read_local(const Arguments& arguments) {
  if (!arguments.has("local")) {
    for (const char* name : {"local-mode", "local-uids"}) {
      if (arguments.given.contains(name)) return misuse(fmt::format("--{} needs --local", name));
    }
    return std::nullopt;
  }
  LocalOptions options;
  options.path = arguments.get("local");
  if (options.path.empty()) return misuse("--local: found ''; accepted: a path for a socket");
  const auto mode = parse_socket_mode(arguments.get("local-mode"));
  if (!mode) return fail(mode.error());
  options.mode = *mode;
  auto uids = parse_uids(arguments.get("local-uids"));
  if (!uids) return fail(uids.error());
  options.uids = std::move(*uids);
  return options;
}

Result<std::optional<LocalServer>> start_local(const std::optional<LocalOptions>& options,
                                               const service::http::Settings& settings,
                                               Engine& engine) {
  if (!options) return std::nullopt;
  LocalOptions chosen = *options;
  chosen.limits = settings.defaults.limits;
  chosen.user_share_percent = settings.client_share_percent;
  chosen.under_way = client_requests_under_way(!engine.devices().empty());
  chosen.on_event = log_local;
  auto server = LocalServer::start(engine, std::move(chosen));
  if (!server) return fail(server.error());
  say(options->listener_fd < 0
          ? fmt::format("serving local clients at {}", options->path)
          : std::string("serving local clients at the socket that was handed over"));
  return std::optional<LocalServer>(std::move(*server));
}

bool drain_local(std::optional<LocalServer>& server, std::uint64_t timeout_ms) {
  return !server || server->drain(std::chrono::milliseconds(timeout_ms));
}

}  // namespace framewire::app
