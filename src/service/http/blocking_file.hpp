// Files whose opening or reading may never end.
#pragma once

#include <sys/stat.h>
#include <string>

namespace framewire::service::http {

/// @return whether a name is a FIFO's, socket's or device's: to open a FIFO waits for a writer, and
///         a reload that waits keeps the service from ending
[[nodiscard]] inline bool is_device_or_pipe(const std::string& path) noexcept {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

}  // namespace framewire::service::http
