#include <fmt/format.h>
#include <base/ascii.hpp>
#include <store/environment.hpp>
#include <store/text.hpp>

namespace framewire::store {
namespace {

constexpr std::size_t kMaxSections = 1'024;
constexpr std::size_t kMaxLines = 10'000;

// A comment begins a line, or stands behind a blank: " # …".
std::string_view without_comment(std::string_view line) noexcept {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool begins = i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t';
    if (begins && (line[i] == '#' || line[i] == ';')) return line.substr(0, i);
  }
  return line;
}

}  // namespace

Result<IniSections> parse_ini(std::string_view text) {
  IniSections sections;
  std::map<std::string, std::string>* open = nullptr;
  for (std::size_t number = 1; !text.empty(); ++number) {
    if (number > kMaxLines) {
      return fail(StatusCode::kTooLarge, fmt::format("has more than {} lines", kMaxLines));
    }
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view line = base::trim_white(without_comment(whole));
    if (line.empty()) continue;
    if (line.front() == '[') {
      if (line.back() != ']' || sections.size() >= kMaxSections) {
        return fail(line.back() != ']' ? StatusCode::kInvalidInput : StatusCode::kTooLarge,
                    line.back() != ']' ? fmt::format("line {} has no ']' at its end", number)
                                       : fmt::format("has more than {} sections", kMaxSections));
      }
      open = &sections[std::string(base::trim_white(line.substr(1, line.size() - 2)))];
      continue;
    }
    if (whole.front() == ' ' || whole.front() == '\t') continue;
    const std::size_t sign = line.find('=');
    // The line itself may hold a secret.
    if (sign == std::string_view::npos || sign == 0 || open == nullptr) {
      return fail(StatusCode::kInvalidInput,
                  fmt::format("line {} is neither [section] nor name = value below one", number));
    }
    (*open)[base::to_lower(base::trim_white(line.substr(0, sign)))] =
        base::trim_white(line.substr(sign + 1));
  }
  return sections;
}

}  // namespace framewire::store
