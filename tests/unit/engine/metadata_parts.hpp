// Parts of which tests of the Resizer make files with metadata.
#pragma once

#include <gtest/gtest.h>
#include <jpeg/bytes.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/head.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/writer.hpp>
#include <jpeg/xmp.hpp>
#include <string_view>
#include <tests/support/gain_map.hpp>
#include <tests/support/sample_jpeg.hpp>
#include <tests/support/sample_profiles.hpp>
#include <tests/unit/engine/resized.hpp>

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

inline constexpr std::string_view kGainMapXmp =
    "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF "
    "xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description rdf:about=\"\" "
    "xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\" hdrgm:Version=\"1.0\" "
    "hdrgm:GainMapMax=\"2.2\"/></rdf:RDF></x:xmpmeta>";

inline Bytes gain_map_stream(J_COLOR_SPACE space = JCS_GRAYSCALE) {
  const auto ramp = [](int, double x, double y) { return 40 + 2 * x - y / 2; };
  return sample::with_segments(sample::make({50, 40, space, 1, 1, 95}, ramp),
                               {{0xE1, tagged(jpeg::kXmpId, kGainMapXmp)}});
}

/// A picture with a gain map, as cameras write them.
inline Bytes ultra_hdr(const Bytes& gain_map = gain_map_stream(),
                       const Bytes& primary = photo(200, 160)) {
  const std::string xmp = jpeg::make_gain_map_xmp(gain_map.size());
  Bytes out = {0xFF, 0xD8};
  jpeg::write_segment(out, 0xE1, tagged(jpeg::kXmpId, xmp));
  jpeg::write_segment(out, 0xE2, jpeg::make_mpf(out.size() + 4, 0, 0));
  out.insert(out.end(), primary.begin() + 2, primary.end());
  EXPECT_TRUE(append_gain_map(out, gain_map));
  return out;
}

}  // namespace framewire::test
