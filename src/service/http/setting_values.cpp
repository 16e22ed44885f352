#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <base/options_values.hpp>
#include <limits>
#include <service/http/setting_values.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

template <typename Number>
bool parse_numbers(Text text, Number high, std::vector<Number>& out) {
  std::vector<Number> all;
  while (true) {
    const auto comma = text.find(',');
    Number value = 0;
    if (!options::parse_integer<Number>(text.substr(0, comma), 0, high, value)) return false;
    all.push_back(value);
    if (comma == Text::npos) break;
    text.remove_prefix(comma + 1);
  }
  out = std::move(all);
  return true;
}

}  // namespace

bool parse_devices(Text text, std::vector<int>& out) {
  if (text == "all") {
    out.clear();
    return true;
  }
  return parse_numbers(text, std::numeric_limits<int>::max(), out);
}

std::string print_devices(const std::vector<int>& devices) {
  return devices.empty() ? "all" : fmt::format("{}", fmt::join(devices, ","));
}

bool parse_mode(Text text, unsigned& out) {
  const bool octal =
      !text.empty() && text.size() <= 4 &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '7'; });
  if (!octal) return false;
  unsigned mode = 0;
  for (const char c : text) mode = mode * 8 + static_cast<unsigned>(c - '0');
  if (mode > 0777) return false;
  out = mode;
  return true;
}

bool parse_uids(Text text, std::vector<unsigned>& out) {
  if (text.empty()) {
    out.clear();
    return true;
  }
  return parse_numbers(text, std::numeric_limits<unsigned>::max() - 1, out);
}

bool parse_buster(Text text, std::string& out) {
  constexpr Text kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  if (text.size() > 64 || text.find_first_not_of(kLetters) != Text::npos) return false;
  out = text;
  return true;
}

bool parse_fallback_status(Text text, std::uint64_t& out) {
  std::uint64_t value = 0;
  if (!options::parse_integer<std::uint64_t>(text, 0, 599, value)) return false;
  if (value != 0 && value != 200 && value < 400) return false;
  out = value;
  return true;
}

}  // namespace framewire::service::http
