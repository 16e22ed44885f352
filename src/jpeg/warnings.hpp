// Adds warnings to a parsed file; bounded, since hostile input can earn one for every few bytes.
#pragma once

#include <cstddef>
#include <jpeg/types.hpp>
#include <string>
#include <utility>

namespace framewire::jpeg {

/// More than anybody reads; each takes some hundred bytes of memory.
inline constexpr std::size_t kMaxWarnings = 64;

/// Whether a further warning would be kept. Ask before formatting a message that may come millions
/// of times.
inline bool has_room_for_warning(const JpegFile& file) {
  return file.warnings.size() < kMaxWarnings;
}

inline void warn(JpegFile& file, WarningKind kind, std::string message,
                 std::optional<std::uint64_t> offset = std::nullopt) {
  if (has_room_for_warning(file)) {
    file.warnings.push_back({kind, std::move(message), offset});
  }
}

}  // namespace framewire::jpeg
