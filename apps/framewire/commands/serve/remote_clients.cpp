#include <fmt/format.h>
#include <commands/serve/clients.hpp>
#include <commands/serve/remote_clients.hpp>
#include <report/console.hpp>
#include <string>
#include <utility>

namespace framewire::app {
namespace {

void log_remote(const service::remote::RemoteEvent& event) {
  log_client(event, "remote", [&](Json& line) {
    if (!event.peer.empty()) line["name"] = event.peer;
  });
}

/// The address with the port that it has got, where it asked for port 0.
std::string with_port(const std::string& address, std::uint16_t port) {
  const std::string host = address.substr(0, address.rfind(':'));
  return fmt::format("{}:{}", host.empty() ? "127.0.0.1" : host, port);
}

}  // namespace

std::optional<RemoteOptions> remote_options(const service::http::RemoteClientSettings& settings) {
  if (settings.address.empty()) return std::nullopt;
  RemoteOptions options;
  options.address = settings.address;
  options.security.psk_file = settings.psk_file;
  options.security.allowed = settings.allowed;
  options.link = settings.link;
  options.ucx_device = settings.interface;
  return options;
}

Result<std::optional<RemoteServer>> start_remote(const std::optional<RemoteOptions>& options,
                                                 const service::http::ServiceSettings& settings,
                                                 service::PictureEngine& engine,
                                                 service::http::Server& server) {
  if (!options) return std::nullopt;
  RemoteOptions chosen = *options;
  chosen.limits = settings.defaults.limits;
  chosen.client_share_percent = settings.client_share_percent;
  chosen.under_way = client_requests_under_way(!engine.devices().empty());
  using Transport = service::http::ClientTransport;
  chosen.counters = &server.client_counters(
      options->link == transport::kUcxRdmaLink ? Transport::kUcxRdma : Transport::kStream);
  chosen.on_event = log_remote;
  auto started = RemoteServer::start(engine, server.admission(), std::move(chosen));
  if (!started) return fail(started.error());
  say(fmt::format("serving remote clients at {}", with_port(options->address, started->port())));
  return std::optional<RemoteServer>(std::move(*started));
}

}  // namespace framewire::app
