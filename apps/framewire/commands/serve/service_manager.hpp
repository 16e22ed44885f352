// framewire serve below systemd: sockets that it hands over, and what it is told.
#pragma once

#include <base/file_descriptor.hpp>
#include <commands/serve/local_clients.hpp>
#include <framewire/status.hpp>
#include <service/http/server.hpp>
#include <service/systemd/notifier.hpp>
#include <service/systemd/passed_sockets.hpp>

namespace framewire::app {

/// What a service manager gave. Without one: no sockets, and a notifier that tells nobody.
struct ServiceManager {
  service::systemd::Notifier notifier;
  service::http::InheritedListeners listeners;
  base::FileDescriptor local;  ///< for local clients
};

/// Sorts sockets by their names: "metrics" and "local" are for those, every other one is for
/// requests.
/// @return invalid_input for a socket of another kind, two for local clients, or one named "tls"
[[nodiscard]] Result<ServiceManager> sort_sockets(
    std::vector<service::systemd::PassedSocket> sockets);

/// Takes all from the environment, where it leaves nothing. Called before any thread is started.
/// @return invalid_input or busy, about what is wrong there
[[nodiscard]] Result<ServiceManager> find_service_manager();

}  // namespace framewire::app
