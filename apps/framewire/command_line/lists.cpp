#include <command_line/lists.hpp>

namespace framewire::app {

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text = text.substr(comma + 1);
  }
}

}  // namespace framewire::app
