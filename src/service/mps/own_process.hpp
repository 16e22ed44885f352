// Processes of a daemon that we have started, told from all others before anything is done to them.
#pragma once

#include <sys/types.h>
#include <base/clock.hpp>
#include <base/file_descriptor.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::mps {

/// A process that began with this value of a variable in its environment, by the kernel's word.
/// @return none where it has ended, is another user's, or began otherwise: a number that a daemon
///         names, or a file, proves nothing
[[nodiscard]] base::FileDescriptor open_own_process(pid_t pid, std::string_view variable,
                                                    const std::string& value);
/// All of them but one. @param except  is left out
[[nodiscard]] std::vector<base::FileDescriptor> find_own_processes(std::string_view variable,
                                                                   const std::string& value,
                                                                   pid_t except);

/// Any process, to be watched alone. @return none where there is no such process
[[nodiscard]] base::FileDescriptor open_any_process(pid_t pid);

/// The daemon's number, as it wrote it into its folder; 0 where there is none.
[[nodiscard]] pid_t daemon_process(const std::string& folder);

/// @return whether the process has ended by then
[[nodiscard]] bool wait_for_end(const base::FileDescriptor& pidfd, base::Clock::time_point until);
void kill_process(const base::FileDescriptor& pidfd);

}  // namespace framewire::service::mps
