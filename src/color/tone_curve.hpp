// A profile's tone curve, evaluated as LittleCMS does, without LittleCMS.
//
// Source: ICC.1:2022, 10.6 (curv) and 10.18 (para); arithmetic as LittleCMS 2.14
// (cmsEvalToneCurveFloat), bit for bit: tests/unit/color/shaper_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace framewire::color {

class ToneCurve {
 public:
  /// @param tag  host, a tone curve's tag that reduce_profile() has let through; stays while this
  ///             is used
  /// @return nothing for what is left to LittleCMS: other types, and parametric curves that divide
  ///         by nearly nothing
  [[nodiscard]] static std::optional<ToneCurve> read(std::span<const std::uint8_t> tag);

  /// @param x  0 to 1
  /// @cost of an entry or a parametric curve up to one power
  [[nodiscard]] float at(float x) const;

 private:
  [[nodiscard]] std::uint16_t entry(std::size_t index) const;
  [[nodiscard]] float interpolate(float x) const;
  [[nodiscard]] double parametric(double x) const;

  int kind_ = -1;                          ///< of a parametric curve, 0 to 4; -1: entries
  std::array<double, 7> parameters_{};     ///< g a b c d e f
  std::span<const std::uint8_t> entries_;  ///< big-endian, of 16 bits, at least two
};

}  // namespace framewire::color
