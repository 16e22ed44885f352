// The file of pre-shared keys.
#pragma once

#include <framewire/status.hpp>
#include <string>
#include <transport/wire/secret_file.hpp>
#include <vector>

namespace framewire::transport::wire {

struct PskEntry {
  std::string name;  ///< UTF-8 without control characters
  Secret key;
};

/// Reads lines "NAME HEX"; empty ones and those that begin with # are skipped.
/// @return as read_secret(); besides invalid_input for a malformed line
[[nodiscard]] Result<std::vector<PskEntry>> read_psk_file(const std::string& path);

}  // namespace framewire::transport::wire
