// Adds warnings to a parsed file; bounded, since hostile input can earn one for every few bytes.
#pragma once

#include <cstddef>
#include <jpeg/types.hpp>
#include <string>
#include <utility>

namespace framewire::jpeg {

inline constexpr std::size_t kMaxWarnings = 64;

inline void warn(JpegFile& file, const char* kind, std::string message,
                 std::optional<std::uint64_t> offset = std::nullopt) {
  if (file.warnings.size() < kMaxWarnings) {
    file.warnings.push_back({kind, std::move(message), offset});
  }
}

}  // namespace framewire::jpeg
