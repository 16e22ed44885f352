#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <base/options_values.hpp>
#include <limits>
#include <service/http/head.hpp>
#include <service/http/setting_values.hpp>
#include <service/url/settings.hpp>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

constexpr std::uint64_t kKiB = 1024;

constexpr std::size_t kMaxTextBytes = 64u << 10;

}  // namespace

bool is_text(Text text) {
  return text.size() <= kMaxTextBytes && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
         });
}

bool parse_text(Text text, std::string& out) {
  if (!is_text(text)) return false;
  out = text;
  return true;
}

bool parse_list(Text text, std::vector<std::string>& out) {
  if (!is_text(text)) return false;
  out = url::split_list(text, ",");
  return true;
}

std::string print_list(const std::vector<std::string>& list) {
  return fmt::format("{}", fmt::join(list, ","));
}

bool lists_nothing(Text text) { return url::split_list(text, ",").empty(); }

bool has_empty_secret(Text text, bool is_list) {
  if (!is_list) return base::trim_blanks(text).empty();
  const auto entries = static_cast<std::size_t>(std::count(text.begin(), text.end(), ',')) + 1;
  return url::split_list(text, ",").size() != entries;
}

bool parse_small_bytes(Text text, std::uint64_t& out) {
  std::uint64_t value = 0;
  if (!options::parse_count(text, kKiB, kKiB, value) || value > kKiB * kKiB * kKiB) return false;
  out = value;
  return true;
}

bool parse_bytes_or_none(Text text, std::uint64_t& out) {
  if (text != "0") return options::parse_count(text, kKiB, kKiB, out);
  out = 0;
  return true;
}

bool parse_bytes_or_auto(Text text, std::optional<std::uint64_t>& out) {
  if (text != "auto") return parse_bytes_or_none(text, out.emplace());
  out.reset();
  return true;
}

std::string print_bytes_or_auto(std::optional<std::uint64_t> value) {
  return value ? options::print_count(*value, kKiB) : "auto";
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
  return options::parse_integers(text, 0U, std::numeric_limits<unsigned>::max() - 1, out);
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

bool parse_link(Text text, std::string& out) {
  if (text != "stream" && text != "ucx-rdma") return false;
  out = text;
  return true;
}

bool parse_path_style(Text text, std::optional<bool>& out) {
  if (text != "auto" && text != "off" && text != "on") return false;
  out = text == "auto" ? std::nullopt : std::optional<bool>(text == "on");
  return true;
}

std::string print_path_style(std::optional<bool> value) {
  if (!value) return "auto";
  return *value ? "on" : "off";
}

}  // namespace framewire::service::http
