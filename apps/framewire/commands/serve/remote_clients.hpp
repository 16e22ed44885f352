// framewire serve --remote-clients: other hosts use the service's engine.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <service/http/server.hpp>
#include <service/http/settings.hpp>
#include <service/pictures/picture_engine.hpp>
#include <service/remote/remote_server.hpp>

namespace framewire::app {

using RemoteOptions = service::remote::RemoteServerOptions;
using service::remote::RemoteServer;

/// What the settings say about clients on other hosts; nothing where there are none.
[[nodiscard]] std::optional<RemoteOptions> remote_options(
    const service::http::RemoteClientSettings& settings);

/// Starts to serve them, logging who comes and goes.
/// @param engine  what the HTTP server uses, too @param server  whose admission counts
[[nodiscard]] Result<std::optional<RemoteServer>> start_remote(
    const std::optional<RemoteOptions>& options, const service::http::ServiceSettings& settings,
    service::PictureEngine& engine, service::http::Server& server);

}  // namespace framewire::app
