#include <base/ascii.hpp>
#include <service/url/settings.hpp>
#include <service/url/text.hpp>

namespace framewire::service::url {

std::vector<std::string> split_list(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(text, separator)) {
    if (const std::string_view trimmed = base::trim_white(part); !trimmed.empty()) {
      parts.emplace_back(trimmed);
    }
  }
  return parts;
}

}  // namespace framewire::service::url
