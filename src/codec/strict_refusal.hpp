// What strict makes of a warning, alike wherever it was found.
#pragma once

#include <fmt/format.h>
#include <framewire/image.hpp>
#include <framewire/status.hpp>
#include <string_view>
#include <utility>

namespace framewire::codec {

inline constexpr std::string_view kStrictNote = " (strict accepts only files without warnings)";

/// invalid_input that says which warning it was, and that strict is why it is an error.
[[nodiscard]] inline Status strict_refusal(const Warning& warning) {
  Status status(StatusCode::kInvalidInput,
                fmt::format("{}: {}{}", to_string(warning.kind), warning.message, kStrictNote));
  if (warning.offset) return std::move(status).at(*warning.offset);
  return status;
}

}  // namespace framewire::codec
