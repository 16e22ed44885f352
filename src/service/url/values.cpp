#include <fmt/format.h>
#include <base/ascii.hpp>
#include <charconv>
#include <cmath>
#include <service/url/text.hpp>
#include <service/url/values.hpp>
#include <span>

namespace framewire::service::url {
namespace {

// In the order of the enumerations.
constexpr std::string_view kFormatWords[] = {"jpeg", "png",  "webp", "avif", "gif", "ico",
                                             "bmp",  "tiff", "jxl",  "heic", "svg"};
constexpr std::string_view kResizingTypes[] = {"fit", "fill", "fill-down", "force", "auto"};
constexpr std::string_view kGravityTypes[] = {"ce",   "no",   "so",   "ea", "we", "noea",
                                              "nowe", "soea", "sowe", "fp", "sm", "re"};
static_assert(std::size(kFormatWords) == kFormats);

template <typename Enum>
std::optional<Enum> find(std::span<const std::string_view> words, std::string_view text) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

// Takes a sign off. @return whether it was a minus
bool take_sign(std::string_view& text) noexcept {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  return negative;
}

template <typename T, typename... Format>
std::optional<T> read_whole(std::string_view text, Format... format) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, format...);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> read_integer(std::string_view text, std::int64_t low,
                                         std::int64_t high) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  const auto value = read_whole<std::int64_t>(text);
  if (!value || *value < low || *value > high) return std::nullopt;
  return value;
}

std::optional<double> read_real(std::string_view text) {
  const bool negative = take_sign(text);
  // A digit or a point: neither a second sign nor "inf" and "nan", which from_chars would take.
  if (text.empty() || (!base::is_digit(text.front()) && text.front() != '.')) return std::nullopt;
  std::optional<double> value;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    const bool begins =
        !text.empty() && (base::hex_value(text.front()) >= 0 || text.front() == '.');
    if (!begins || text.find_first_of("pP") == std::string_view::npos) return std::nullopt;
    value = read_whole<double>(text, std::chars_format::hex);
  } else {
    value = read_whole<double>(text, std::chars_format::general);
  }
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return (negative ? -*value : *value) + 0.0;  // −0 + 0 is 0
}

bool read_bool(std::string_view text) noexcept {
  return text == "1" || text == "t" || text == "T" || text == "true" || text == "True" ||
         text == "TRUE";
}

std::optional<RgbBytes> read_rgb(std::string_view text) {
  if (text.size() != 3 && text.size() != 6) return std::nullopt;
  const std::size_t digits = text.size() / 3;
  RgbBytes color{};
  for (std::size_t i = 0; i < 3; ++i) {
    const int high = base::hex_value(text[i * digits]);
    const int low = base::hex_value(text[i * digits + digits - 1]);
    if (high < 0 || low < 0) return std::nullopt;
    color[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return color;
}

std::optional<Format> read_format(std::string_view text) {
  return find<Format>(kFormatWords, text == "jpg" ? "jpeg" : text);
}

std::optional<ResizingType> read_resizing_type(std::string_view text) {
  return find<ResizingType>(kResizingTypes, text);
}

std::optional<GravityType> read_gravity_type(std::string_view text) {
  return find<GravityType>(kGravityTypes, text);
}

std::string_view word(Format format) noexcept {
  return kFormatWords[static_cast<std::size_t>(format)];
}
std::string_view word(ResizingType type) noexcept {
  return kResizingTypes[static_cast<std::size_t>(type)];
}
std::string_view word(GravityType type) noexcept {
  return kGravityTypes[static_cast<std::size_t>(type)];
}

std::string hex(const RgbBytes& color) {
  return fmt::format("{:02x}{:02x}{:02x}", color[0], color[1], color[2]);
}

}  // namespace framewire::service::url
