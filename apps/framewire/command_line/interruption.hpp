// What signals that end the program leave behind: no unfinished files.
#pragma once

#include <atomic>

namespace framewire::app {

/// Has SIGINT, SIGTERM and SIGHUP delete this process's unfinished files before they end it.
void delete_unfinished_on_signals();

/// The first SIGINT or SIGTERM only sets the flag, for work to be finished; the second, and
/// SIGHUP, end the program as above. Static storage.
void drain_on_signals(std::atomic<bool>& flag);

}  // namespace framewire::app
