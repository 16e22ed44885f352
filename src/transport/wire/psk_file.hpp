// The file of pre-shared keys.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <string>
#include <vector>

namespace framewire::transport::wire {

struct PskEntry {
  std::string name;
  std::vector<std::uint8_t> key;
};

/// Reads lines "NAME HEX"; empty ones and those that begin with # are skipped.
/// @return io_error, denied where group or others may read it, invalid_input for a malformed line
[[nodiscard]] Result<std::vector<PskEntry>> read_psk_file(const std::string& path);

}  // namespace framewire::transport::wire
