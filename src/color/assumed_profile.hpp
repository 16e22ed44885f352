// The profile of files that carry none, but say in another way what their numbers mean.
#pragma once

#include <cstdint>
#include <jpeg/types.hpp>
#include <string_view>
#include <vector>

namespace framewire::color {

inline constexpr std::string_view kAdobeRgbName = "Adobe RGB (1998)";

/// A profile of that space, from its published numbers: sRGB's primaries but for green, D65, and a
/// gamma of 563/256 (Adobe RGB (1998) Color Image Encoding, 2005-05, 4.3). The same bytes always;
/// empty where memory ran out.
[[nodiscard]] const std::vector<std::uint8_t>& adobe_rgb_profile();

/// Gives a colour file without a profile, whose EXIF says Adobe RGB (JpegFile::exif_adobe_rgb),
/// that profile, so that it is treated as though it had it.
/// @return the name of the profile given; empty: none was
std::string_view assume_profile(jpeg::JpegFile& file);

}  // namespace framewire::color
