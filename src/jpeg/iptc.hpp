// IPTC captions inside Photoshop's APP13 segments.
//
// Source: Adobe Photoshop file formats specification ("image resource blocks"); IPTC IIM 4.2.
#pragma once

#include <cstddef>
#include <jpeg/bytes.hpp>
#include <vector>

namespace framewire::jpeg {

inline constexpr std::string_view kPhotoshopId{"Photoshop 3.0\0", 14};

/// Image resources of a file: what its APP13 segments hold behind Photoshop's identifier, joined,
/// since a block may begin in one segment and end in the next.
class ImageResources {
 public:
  /// @param payload  of an APP13 segment, identifier included; others are left out
  void add_segment(ByteSpan payload);

  /// One resource with only byline (2:80), credit (2:110) and copyright notice (2:116), and the
  /// character set (1:90) that they are written in; empty where it has none of the three.
  [[nodiscard]] Bytes copyright() const;

  /// All but what shows the picture as it was: thumbnails (1033, 1036), previews inside IPTC (2:200
  /// to 2:202, records 7 to 9), copies of EXIF and XMP (1058 to 1060), and whatever else holds a
  /// picture; the profile (1039) only if the output keeps the input's.
  [[nodiscard]] Bytes without_pictures(bool keeps_profile) const;

 private:
  Bytes bytes_;
  std::vector<std::size_t> beginnings_;  ///< of each segment's part, where damage may end
};

/// Writes resources into as many APP13 segments as they need.
void write_image_resources(Bytes& out, ByteSpan resources);

}  // namespace framewire::jpeg
