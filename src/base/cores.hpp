// How many processors this process may use.
#pragma once

#include <string>

namespace framewire::base {

/// Those on which the calling thread may run, which threads that it starts inherit; no more than
/// the quotas of the process' control groups are worth, rounded up. At least 1. Looks anew at each
/// call.
[[nodiscard]] unsigned usable_cores() noexcept;

/// What the least of the quotas is worth (cpu.max of control groups, version 2), of the process'
/// own group and of those above it.
/// @param root  in which /proc and /sys lie: empty, but for tests
/// @return UINT_MAX where there is none
[[nodiscard]] unsigned cores_of_quota(const std::string& root) noexcept;

}  // namespace framewire::base
