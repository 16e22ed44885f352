#include <fmt/format.h>
#include <commands/serve/service_manager.hpp>
#include <utility>

namespace framewire::app {

using service::systemd::PassedSocket;

Result<ServiceManager> sort_sockets(std::vector<PassedSocket> sockets) {
  ServiceManager manager;
  for (PassedSocket& socket : sockets) {
    const std::string what = fmt::format("socket '{}' of LISTEN_FDS", socket.name);
    const auto refused = [&](const char* message) {
      return fail(Status(StatusCode::kInvalidInput, message).about(what));
    };
    if (socket.name == "tls") return refused("TLS does not come by sockets that are handed over");
    if (socket.name == "local") {
      if (manager.local.valid()) return refused("accepted: one socket for local clients");
      manager.local = std::move(socket.fd);
      continue;
    }
    auto listener = service::http::adopt_listener(std::move(socket.fd), what);
    if (!listener) return fail(listener.error());
    auto& listeners = manager.listeners;
    (socket.name == "metrics" ? listeners.metrics : listeners.requests)
        .push_back(std::move(*listener));
  }
  return manager;
}

Result<ServiceManager> find_service_manager() {
  auto notifier = service::systemd::Notifier::from_environment();
  if (!notifier) return fail(notifier.error());
  auto sockets = service::systemd::take_sockets();
  if (!sockets) return fail(sockets.error());
  auto manager = sort_sockets(std::move(*sockets));
  if (manager) manager->notifier = std::move(*notifier);
  return manager;
}

}  // namespace framewire::app
