// What options say about who may connect, loaded and checked.
#pragma once

#include <framewire/status.hpp>
#include <framewire/transport.hpp>
#include <optional>
#include <transport/wire/tls.hpp>

namespace framewire::transport::session {

/// Checks the options, and loads what they say about security.
/// @return nothing where they say insecure; invalid_input, denied, io_error
[[nodiscard]] Result<std::optional<wire::TlsContext>> open_context(const SessionOptions& options,
                                                                   bool server);

}  // namespace framewire::transport::session
