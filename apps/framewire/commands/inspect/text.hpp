// What inspect tells of one file, for people.
#pragma once

#include <report/json.hpp>
#include <string>

namespace framewire::app {

/// The model of inspect::inspect_bytes() as text.
[[nodiscard]] std::string inspect_text(const Json& model);

}  // namespace framewire::app
