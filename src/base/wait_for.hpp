// Sleeping until a file descriptor can be used.
#pragma once

#include <base/clock.hpp>

namespace framewire::base {

/// Sleeps until the descriptor can be read (or written), or the deadline has passed.
/// @return whether it can
bool wait_for(int fd, bool write, Clock::time_point deadline);

}  // namespace framewire::base
