// Parts of which tests of the Resizer make files with metadata.
#pragma once

#include <jpeg/bytes.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/markers.hpp>
#include <string_view>
#include <tests/support/sample_jpeg.hpp>
#include <tests/support/sample_profiles.hpp>

namespace framewire::test {

using sample::Bytes;

/// A segment's payload: what says of which kind it is, and what it carries.
inline Bytes tagged(std::string_view id, jpeg::ByteSpan data) {
  Bytes out;
  jpeg::append_text(out, id);
  jpeg::append_bytes(out, data);
  return out;
}
inline Bytes tagged(std::string_view id, std::string_view text) {
  Bytes out;
  jpeg::append_text(out, id);
  jpeg::append_text(out, text);
  return out;
}

/// With an EXIF block that names artist and copyright, and a comment.
inline Bytes with_exif(const Bytes& jpeg, int orientation) {
  jpeg::ExifSummary exif;
  exif.orientation = orientation;
  exif.artist = "Somebody";
  exif.copyright = "Nobody";
  return sample::with_segments(jpeg,
                               {{jpeg::marker::kApp1, tagged(jpeg::kExifId, jpeg::make_exif(exif))},
                                {jpeg::marker::kCom, {'h', 'e', 'l', 'l', 'o'}}});
}

/// A profile that makes more of red than sRGB does: Display P3's primaries. Made once, since it
/// says when.
inline const Bytes& wide_profile() {
  static const Bytes profile =
      color::testing_profiles::rgb_profile({color::testing_profiles::kDisplayP3.primaries, 2.2});
  return profile;
}

}  // namespace framewire::test
