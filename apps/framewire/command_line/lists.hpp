// Lists on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace framewire::app {

/// The parts between the commas, empty ones too; at least one.
[[nodiscard]] std::vector<std::string> split_at_commas(std::string_view text);

}  // namespace framewire::app
