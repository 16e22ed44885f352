// IPTC captions inside Photoshop's APP13 segments.
//
// Source: Adobe Photoshop file formats specification ("image resource blocks"); IPTC IIM 4.2.
#pragma once

#include <jpeg/bytes.hpp>

namespace framewire::jpeg {

inline constexpr std::string_view kPhotoshopId{"Photoshop 3.0\0", 14};

/// A payload with only byline (2:80), credit (2:110) and copyright notice (2:116), and the
/// character set (1:90) that they are written in.
/// @param payload  of an APP13 segment, identifier included
/// @return empty where it has none of the three
[[nodiscard]] Bytes copyright_iptc(ByteSpan payload);

/// The payload without its thumbnails (resources 1033 and 1036), which show the picture as it was.
/// @return empty where nothing is left
[[nodiscard]] Bytes without_thumbnails(ByteSpan payload);

}  // namespace framewire::jpeg
