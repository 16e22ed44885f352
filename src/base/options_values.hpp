// Texts of single option values to numbers and back; strict: the whole text or nothing.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <framewire/options.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace framewire::options {

/// The longest side that may be asked for. A box may be larger than any JPEG: where the picture
/// does not fill it, the output is small; where it does, the planner refuses it as too_large.
inline constexpr std::int32_t kMaxAskedSide = 1'000'000;
/// Range of dpr and zoom: wide enough that nothing beyond it makes another picture that can be
/// written, save with a box of several thousand pixels.
inline constexpr double kMinFactor = 0.0001;
inline constexpr double kMaxFactor = 100'000;

/// Reads a plain decimal integer within [low, high]; `out` changes only on success.
template <std::integral T>
[[nodiscard]] bool parse_integer(std::string_view text, T low, T high, T& out) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end || value < low || value > high) {
    return false;
  }
  out = value;
  return true;
}

/// Reads such integers joined by commas, at least one; `out` changes only on success.
template <std::integral T>
[[nodiscard]] bool parse_integers(std::string_view text, T low, T high, std::vector<T>& out) {
  std::vector<T> all;
  while (true) {
    const auto comma = text.find(',');
    T value{};
    if (!parse_integer<T>(text.substr(0, comma), low, high, value)) return false;
    all.push_back(value);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  out = std::move(all);
  return true;
}

/// Reads the ordinals of GPUs, joined by commas, or "all", for which `out` becomes empty.
[[nodiscard]] bool parse_devices(std::string_view text, std::vector<int>& out);

/// Reads a finite decimal number within [low, high].
[[nodiscard]] bool parse_real(std::string_view text, double low, double high, double& out);

/// Reads "", "true" or "false".
[[nodiscard]] bool parse_flag(std::string_view text, bool& out);

/// Reads digits with an optional suffix k (or K), M or G: powers of `unit` (1024 for bytes, 1000
/// for pixels). Refuses what does not fit 64 bits.
[[nodiscard]] bool parse_count(std::string_view text, std::uint64_t unit, std::uint64_t low,
                               std::uint64_t& out);

/// Reads "WxH", "Wx", "xH" or "W", sides from 1 to kMaxAskedSide; a side left out becomes 0.
[[nodiscard]] bool parse_size(std::string_view text, std::int32_t& width, std::int32_t& height);

/// Reads as parse_size(), but any number above 0 as a side.
[[nodiscard]] bool parse_crop(std::string_view text, double& width, double& height);

/// Reads "X" for both, or "XxY", each from kMinFactor to kMaxFactor.
[[nodiscard]] bool parse_zoom(std::string_view text, double& x, double& y);

/// Reads "T", "T,R", "T,R,B" or "T,R,B,L", each from 0 to kMaxAskedSide; right and bottom left out
/// are as top, left as right.
[[nodiscard]] bool parse_padding(std::string_view text, Padding& out);

/// Reads one of `anchors` alone, with ":X" or with ":X:Y", offsets up to kMaxAskedSide in
/// magnitude; or "fp:X:Y", both from 0 to 1.
[[nodiscard]] bool parse_gravity(std::string_view text, std::span<const std::string_view> anchors,
                                 Gravity& out);

/// Reads six hexadecimal digits.
[[nodiscard]] bool parse_rgb(std::string_view text, std::span<std::uint8_t, 3> out);

/// Reads one of `words`; its index is the enumerator's value.
template <typename Enum>
[[nodiscard]] bool parse_word(std::string_view text, std::span<const std::string_view> words,
                              Enum& out) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (text == words[i]) {
      out = static_cast<Enum>(i);
      return true;
    }
  }
  return false;
}

/// The word of an enumerator; "?" for a value outside the enumeration, which no parser accepts.
template <typename Enum>
[[nodiscard]] std::string print_word(Enum value, std::span<const std::string_view> words) {
  const auto index = static_cast<std::size_t>(value);
  return std::string(index < words.size() ? words[index] : "?");
}

[[nodiscard]] std::string print_devices(std::span<const int> devices);  ///< "all" for none
[[nodiscard]] std::string print_flag(bool value);
[[nodiscard]] std::string print_real(double value);  ///< shortest text that reads back equal
[[nodiscard]] std::string print_count(std::uint64_t value, std::uint64_t unit);
[[nodiscard]] std::string print_size(std::int32_t width, std::int32_t height);  ///< "" for 0 × 0
[[nodiscard]] std::string print_crop(double width, double height);              ///< "" for 0 × 0
[[nodiscard]] std::string print_zoom(double x, double y);
[[nodiscard]] std::string print_padding(const Padding& p);
[[nodiscard]] std::string print_gravity(const Gravity& gravity,
                                        std::span<const std::string_view> anchors);
[[nodiscard]] std::string print_rgb(std::span<const std::uint8_t, 3> rgb);

}  // namespace framewire::options
