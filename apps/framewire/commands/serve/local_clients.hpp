// framewire serve --local: other processes of this machine, through memory that both map.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <service/http/server.hpp>
#include <service/http/settings.hpp>
#include <service/local/local_server.hpp>
#include <service/pictures/picture_engine.hpp>

namespace framewire::app {

using LocalOptions = service::local::LocalServerOptions;
using LocalServer = service::local::LocalServer;

/// What the settings ask for; nothing where they name no socket.
[[nodiscard]] std::optional<LocalOptions> local_options(
    const service::http::LocalClientSettings& settings);

/// Nothing where nothing was asked for. Logs who comes and goes as lines of JSON.
/// @param settings  whose limits clients cannot raise, and whose client-share is each user's
/// @param engine    what the HTTP server uses, too @param server  whose metrics count
[[nodiscard]] Result<std::optional<LocalServer>> start_local(
    const std::optional<LocalOptions>& options, const service::http::ServiceSettings& settings,
    service::PictureEngine& engine, service::http::Server& server);

}  // namespace framewire::app
