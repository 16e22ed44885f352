// A process that decodes for a service, and does nothing else.
#pragma once

#include <framewire/status.hpp>

namespace framewire::service::workers {

/// Serves the service at the other end of the socket until that end closes: makes an engine as it
/// is told, shares memory, gives up all rights, answers requests. Called once, by a process that
/// was made for it, before it has threads.
/// @param descriptor  the socket; taken over
/// @return peer_lost where the service has closed it, which is the regular end; otherwise why the
///         worker could not begin, which the service has been told
[[nodiscard]] Status run_worker(int descriptor);

}  // namespace framewire::service::workers
