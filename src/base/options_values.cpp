#include <fmt/format.h>
#include <base/checked.hpp>
#include <base/options_values.hpp>

namespace framewire::options {
namespace {

// The largest side that libjpeg and its descendants write (JPEG_MAX_DIMENSION).
constexpr std::int32_t kMaxSide = 65'500;
constexpr std::string_view kSuffixes = "kMG";

bool parse_side(std::string_view text, std::int32_t& out) {
  out = 0;
  return text.empty() || parse_integer<std::int32_t>(text, 1, kMaxSide, out);
}

}  // namespace

bool parse_real(std::string_view text, double low, double high, double& out) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end || !std::isfinite(value)) return false;
  if (value < low || value > high) return false;
  out = value + 0.0;  // −0 would print differently from 0 and yet mean the same
  return true;
}

bool parse_flag(std::string_view text, bool& out) {
  if (text != "" && text != "true" && text != "false") return false;
  out = text != "false";
  return true;
}

bool parse_count(std::string_view text, std::uint64_t unit, std::uint64_t low, std::uint64_t& out) {
  std::uint64_t scale = 1;
  if (!text.empty()) {
    const auto suffix = kSuffixes.find(text.back());
    if (suffix != std::string_view::npos) {
      for (std::size_t i = 0; i <= suffix; ++i) scale *= unit;
      text.remove_suffix(1);
    }
  }
  std::uint64_t digits = 0;
  if (!parse_integer<std::uint64_t>(text, 0, UINT64_MAX, digits)) return false;
  const auto value = base::checked_mul(digits, scale);
  if (!value || *value < low) return false;
  out = *value;
  return true;
}

bool parse_size(std::string_view text, std::int32_t& width, std::int32_t& height) {
  const auto cross = text.find('x');
  std::int32_t w = 0;
  std::int32_t h = 0;
  if (!parse_side(text.substr(0, cross), w)) return false;
  if (cross != std::string_view::npos && !parse_side(text.substr(cross + 1), h)) return false;
  if (w == 0 && h == 0) return false;
  width = w;
  height = h;
  return true;
}

bool parse_rgb(std::string_view text, std::span<std::uint8_t, 3> out) {
  if (text.size() != 6) return false;
  if (text.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, out[i], 16);
  }
  return true;
}

std::string print_flag(bool value) { return value ? "true" : "false"; }

std::string print_real(double value) { return fmt::format("{}", value); }

std::string print_count(std::uint64_t value, std::uint64_t unit) {
  std::size_t suffix = 0;
  while (suffix < kSuffixes.size() && value >= unit && value % unit == 0) {
    value /= unit;
    ++suffix;
  }
  return fmt::format("{}{}", value, suffix == 0 ? "" : kSuffixes.substr(suffix - 1, 1));
}

std::string print_size(std::int32_t width, std::int32_t height) {
  if (width == 0 && height == 0) return {};
  const auto side = [](std::int32_t value) { return value == 0 ? "" : fmt::format("{}", value); };
  return side(width) + "x" + side(height);
}

std::string print_rgb(std::span<const std::uint8_t, 3> rgb) {
  return fmt::format("{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

}  // namespace framewire::options
