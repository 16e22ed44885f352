#include <service/url/settings.hpp>
#include <service/url/text.hpp>

namespace framewire::service::url {

std::vector<std::string> split_list(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(text, separator)) {
    if (const std::string_view trimmed = trim(part); !trimmed.empty()) parts.emplace_back(trimmed);
  }
  return parts;
}

std::vector<std::string> read_preset_lines(std::string_view text) {
  std::vector<std::string> presets = split_list(text, "\n");
  std::erase_if(presets, [](const std::string& line) { return line.front() == '#'; });
  return presets;
}

}  // namespace framewire::service::url
