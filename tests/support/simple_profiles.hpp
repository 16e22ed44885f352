// Profiles of curves and a matrix, byte by byte, so that tests choose every number in them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <jpeg/bytes.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace framewire::color::testing_profiles {

using Bytes = std::vector<std::uint8_t>;

inline std::uint32_t fixed_16_16(double value) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::lround(value * 65536)));
}

/// A "curv" of these entries; one entry is a gamma in 8.8.
inline Bytes curve_of(const std::vector<std::uint16_t>& entries) {
  Bytes tag;
  jpeg::append_text(tag, "curv");
  jpeg::append_u32(tag, 0);
  jpeg::append_u32(tag, static_cast<std::uint32_t>(entries.size()));
  for (const std::uint16_t entry : entries) jpeg::append_u16(tag, entry);
  return tag;
}
inline Bytes gamma_curve(double gamma) {
  return curve_of({static_cast<std::uint16_t>(std::lround(gamma * 256))});
}
/// `count` entries of a function from 0…1 to 0…1.
inline Bytes sampled_curve(std::size_t count, const std::function<double(double)>& value) {
  std::vector<std::uint16_t> entries;
  for (std::size_t i = 0; i < count; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(count - 1);
    entries.push_back(static_cast<std::uint16_t>(std::lround(65535 * value(at))));
  }
  return curve_of(entries);
}
/// A "para" of this kind.
inline Bytes parametric_curve(std::uint32_t kind, std::initializer_list<double> parameters) {
  Bytes tag;
  jpeg::append_text(tag, "para");
  jpeg::append_u32(tag, 0);
  jpeg::append_u16(tag, kind);
  jpeg::append_u16(tag, 0);
  for (const double parameter : parameters) jpeg::append_u32(tag, fixed_16_16(parameter));
  return tag;
}

using Colorants = std::array<std::array<double, 3>, 3>;  ///< XYZ of red, green, blue, D50
inline constexpr Colorants kSrgbColorants{
    {{0.43607, 0.22249, 0.01392}, {0.38515, 0.71687, 0.09708}, {0.14307, 0.06061, 0.71410}}};
inline constexpr Colorants kP3Colorants{
    {{0.51512, 0.2412, -0.00105}, {0.29198, 0.69225, 0.04189}, {0.1571, 0.06657, 0.78407}}};
inline constexpr Colorants kAdobeColorants{
    {{0.60974, 0.31111, 0.01947}, {0.20528, 0.62567, 0.06087}, {0.14919, 0.06322, 0.74457}}};
inline constexpr Colorants kProPhotoColorants{
    {{0.79767, 0.28804, 0.0}, {0.13519, 0.71188, 0.0}, {0.03134, 0.00009, 0.82491}}};

struct RawProfile {
  std::string_view space = "RGB ";
  std::string_view connection = "XYZ ";
  std::string_view device = "mntr";
  std::uint32_t version = 0x02400000;
  std::vector<std::pair<std::string_view, Bytes>> tags;

  [[nodiscard]] Bytes bytes() const {
    using namespace jpeg;
    Bytes out(128), data;
    const auto put = [&](std::size_t at, std::string_view text) {
      std::copy(text.begin(), text.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
    };
    for (int i = 0; i < 4; ++i) {
      out[8 + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(version >> (24 - 8 * i));
    }
    put(12, device), put(16, space), put(20, connection), put(36, "acsp");
    append_u32(out, static_cast<std::uint32_t>(tags.size()));
    for (const auto& [name, bytes] : tags) {
      append_text(out, name);
      append_u32(out, static_cast<std::uint32_t>(132 + 12 * tags.size() + data.size()));
      append_u32(out, static_cast<std::uint32_t>(bytes.size()));
      append_bytes(data, bytes);
      data.resize((data.size() + 3) / 4 * 4);
    }
    append_bytes(out, data);
    for (int i = 0; i < 4; ++i) {
      out[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(out.size() >> (24 - 8 * i));
    }
    return out;
  }
};

inline RawProfile matrix_profile(const Colorants& colorants, const Bytes& red, const Bytes& green,
                                 const Bytes& blue) {
  RawProfile profile;
  constexpr std::string_view kNames[] = {"rXYZ", "gXYZ", "bXYZ"};
  for (std::size_t c = 0; c < 3; ++c) {
    Bytes tag;
    jpeg::append_text(tag, "XYZ ");
    jpeg::append_u32(tag, 0);
    for (const double value : colorants[c]) jpeg::append_u32(tag, fixed_16_16(value));
    profile.tags.emplace_back(kNames[c], tag);
  }
  profile.tags.emplace_back("rTRC", red);
  profile.tags.emplace_back("gTRC", green);
  profile.tags.emplace_back("bTRC", blue);
  return profile;
}
inline RawProfile matrix_profile(const Colorants& colorants, const Bytes& curve) {
  return matrix_profile(colorants, curve, curve, curve);
}
inline RawProfile curve_profile(const Bytes& curve) {
  RawProfile profile;
  profile.space = "GRAY";
  profile.tags.emplace_back("kTRC", curve);
  return profile;
}

}  // namespace framewire::color::testing_profiles
