#include <fmt/format.h>
#include <fmt/ranges.h>
#include <array>
#include <base/checked.hpp>
#include <base/options_values.hpp>
#include <limits>

namespace framewire::options {
namespace {

constexpr std::string_view kSuffixes = "kMG";  // K counts as k

bool parse_side(std::string_view text, std::int32_t& out) {
  out = 0;
  return text.empty() || parse_integer<std::int32_t>(text, 1, kMaxAskedSide, out);
}

bool parse_crop_side(std::string_view text, double& out) {
  out = 0;
  return text.empty() || (parse_real(text, 0, kMaxAskedSide, out) && out > 0);
}

}  // namespace

bool parse_devices(std::string_view text, std::vector<int>& out) {
  if (text != "all") return parse_integers(text, 0, std::numeric_limits<int>::max(), out);
  out.clear();
  return true;
}

std::string print_devices(std::span<const int> devices) {
  return devices.empty() ? "all" : fmt::format("{}", fmt::join(devices, ","));
}

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
    const auto suffix = kSuffixes.find(text.back() == 'K' ? 'k' : text.back());
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

bool parse_crop(std::string_view text, double& width, double& height) {
  const auto cross = text.find('x');
  double w = 0;
  double h = 0;
  if (!parse_crop_side(text.substr(0, cross), w)) return false;
  if (cross != std::string_view::npos && !parse_crop_side(text.substr(cross + 1), h)) return false;
  if (w == 0 && h == 0) return false;
  width = w;
  height = h;
  return true;
}

bool parse_zoom(std::string_view text, double& x, double& y) {
  const auto cross = text.find('x');
  if (!parse_real(text.substr(0, cross), kMinFactor, kMaxFactor, x)) return false;
  y = x;
  return cross == std::string_view::npos ||
         parse_real(text.substr(cross + 1), kMinFactor, kMaxFactor, y);
}

bool parse_padding(std::string_view text, Padding& out) {
  std::array<std::int32_t, 4> sides{};
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    const auto comma = text.find(',');
    if (count == sides.size()) return false;
    if (!parse_integer<std::int32_t>(text.substr(0, comma), 0, kMaxAskedSide, sides[count])) {
      return false;
    }
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  out.top_px = sides[0];
  out.right_px = count > 1 ? sides[1] : out.top_px;
  out.bottom_px = count > 2 ? sides[2] : out.top_px;
  out.left_px = count > 3 ? sides[3] : out.right_px;
  return true;
}

bool parse_gravity(std::string_view text, std::span<const std::string_view> anchors, Gravity& out) {
  const auto first = text.find(':');
  const auto rest = first == std::string_view::npos ? std::string_view() : text.substr(first + 1);
  const auto second = rest.find(':');
  const auto x = rest.substr(0, second);
  const auto y = second == std::string_view::npos ? std::string_view() : rest.substr(second + 1);
  Gravity gravity;
  if (text.substr(0, first) == "fp") {
    gravity.anchor = Gravity::Anchor::kFocus;
    if (!parse_real(x, 0, 1, gravity.focus_x) || !parse_real(y, 0, 1, gravity.focus_y)) {
      return false;
    }
  } else {
    if (!parse_word(text.substr(0, first), anchors, gravity.anchor)) return false;
    constexpr double kMax = kMaxAskedSide;
    const bool has_x = first != std::string_view::npos;
    const bool has_y = second != std::string_view::npos;
    if (has_x && !parse_real(x, -kMax, kMax, gravity.offset_x)) return false;
    if (has_y && !parse_real(y, -kMax, kMax, gravity.offset_y)) return false;
  }
  out = gravity;
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

// As parse_real() reads it: −0, which code may set, means the same as 0.
std::string print_real(double value) { return fmt::format("{}", value + 0.0); }

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

std::string print_crop(double width, double height) {
  if (width == 0 && height == 0) return {};
  const auto side = [](double value) { return value == 0 ? "" : print_real(value); };
  return side(width) + "x" + side(height);
}

std::string print_zoom(double x, double y) {
  return x == y ? print_real(x) : print_real(x) + "x" + print_real(y);
}

std::string print_padding(const Padding& p) {
  if (p.top_px == p.right_px && p.top_px == p.bottom_px && p.top_px == p.left_px) {
    return fmt::format("{}", p.top_px);
  }
  return fmt::format("{},{},{},{}", p.top_px, p.right_px, p.bottom_px, p.left_px);
}

std::string print_gravity(const Gravity& gravity, std::span<const std::string_view> anchors) {
  if (gravity.anchor == Gravity::Anchor::kFocus) {
    return fmt::format("fp:{}:{}", print_real(gravity.focus_x), print_real(gravity.focus_y));
  }
  std::string text = print_word(gravity.anchor, anchors);
  if (gravity.offset_x != 0 || gravity.offset_y != 0) {
    text += fmt::format(":{}:{}", print_real(gravity.offset_x), print_real(gravity.offset_y));
  }
  return text;
}

std::string print_rgb(std::span<const std::uint8_t, 3> rgb) {
  return fmt::format("{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

}  // namespace framewire::options
