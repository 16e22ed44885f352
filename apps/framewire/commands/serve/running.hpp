// What framewire serve does from its start to its end: reloads, and word to the service manager.
#pragma once

#include <commands/serve/signals.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <service/http/configuration.hpp>
#include <service/http/server.hpp>
#include <service/systemd/notifier.hpp>

namespace framewire::app {

/// Reads all settings again, from where they came at the start.
using ReadSettings = std::function<Result<service::http::Configuration>()>;

/// Returns when the server is to end. SIGHUP reloads: takes over what can be, and says what was and
/// what was not; a mistake changes nothing. The manager's watchdog gets word as long as
/// every thread of sockets works; a thread that is stuck lets it bark.
/// @param renew_workers  called after a reload: clears the quarantine and replaces worker
///                       processes, where there are some
/// @param look           called every second or so
void run_until_end(const ServeSignals& signals, service::http::Server& server,
                   const service::systemd::Notifier& notifier, const ReadSettings& read,
                   const std::function<void()>& renew_workers, const std::function<void()>& look);

}  // namespace framewire::app
