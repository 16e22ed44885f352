#include <fmt/format.h>
#include <commands/serve/clients.hpp>
#include <commands/serve/local_clients.hpp>
#include <report/console.hpp>
#include <utility>

namespace framewire::app {
namespace {

void log_local(const service::local::LocalEvent& event) {
  log_client(event, "local", [&](Json& line) {
    line["pid"] = event.pid;
    line["uid"] = event.uid;
  });
}

}  // namespace

std::optional<LocalOptions> local_options(const service::http::LocalClientSettings& settings) {
  if (settings.path.empty()) return std::nullopt;
  LocalOptions options;
  options.path = settings.path;
  options.mode = static_cast<mode_t>(settings.mode);
  options.uids.assign(settings.uids.begin(), settings.uids.end());
  return options;
}

Result<std::optional<LocalServer>> start_local(const std::optional<LocalOptions>& options,
                                               const service::http::ServiceSettings& settings,
                                               service::PictureEngine& engine,
                                               service::http::Server& server) {
  if (!options) return std::nullopt;
  LocalOptions chosen = *options;
  chosen.limits = settings.defaults.limits;
  chosen.user_share_percent = settings.client_share_percent;
  chosen.under_way = client_requests_under_way(!engine.devices().empty());
  chosen.counters = &server.client_counters(service::http::ClientTransport::kLocal);
  chosen.on_event = log_local;
  auto started = LocalServer::start(engine, std::move(chosen));
  if (!started) return fail(started.error());
  say(options->listener_fd < 0
          ? fmt::format("serving local clients at {}", options->path)
          : std::string("serving local clients at the socket that was handed over"));
  return std::optional<LocalServer>(std::move(*started));
}

}  // namespace framewire::app
