// What the public API makes of orientation, metadata, colour profiles and gain maps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lcms2.h>
#include <algorithm>
#include <codec/strict_refusal.hpp>
#include <framewire/resizer.hpp>
#include <jpeg/bytes.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/head.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/writer.hpp>
#include <jpeg/xmp.hpp>
#include <string_view>
#include <tests/support/sample_jpeg.hpp>
#include <tests/unit/engine/metadata_parts.hpp>
#include <tests/unit/engine/resized.hpp>

namespace framewire {
namespace {

using sample::Bytes;
using sample::Decoded;
using test::gain_map_stream;
using test::kinds;
using test::parse_or_die;
using test::photo;
using test::refusal;
using test::resize_or_die;
using test::smooth;
using test::tagged;
using test::ultra_hdr;
using test::with_exif;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- orientation and metadata ---------------------------------------------------------------

TEST(ResizerOrientation, IsAppliedAndReset) {
  const Bytes jpeg = with_exif(photo(), 6);
  for (const Metadata metadata : {Metadata::kStrip, Metadata::kCopyright, Metadata::kKeep}) {
    ResizeOptions options;
    options.metadata = metadata;
    options.width_px = 75;
    const Resized out = resize_or_die(jpeg, options);
    EXPECT_EQ(out.report.input.width_px, 200) << "as stored";
    EXPECT_EQ(out.report.output.width_px, 75);
    EXPECT_EQ(out.report.output.height_px, 100);
    EXPECT_EQ(parse_or_die(out.bytes).orientation, 1);
    // Shown at (x, y) is stored at (2y, 150 − 2x).
    const Decoded decoded = sample::decode(out.bytes);
    for (int y = 10; y < 90; y += 7) {
      for (int x = 10; x < 65; x += 7) {
        ASSERT_NEAR(decoded.planes[0].at(x, y), smooth(0, 2 * y + 1, 150 - 2 * x - 1), 8);
      }
    }
  }
}

TEST(ResizerOrientation, StaysWhereItIsNotApplied) {
  ResizeOptions options;
  options.auto_orient = false;
  options.width_px = 100;
  for (const Metadata metadata : {Metadata::kStrip, Metadata::kCopyright, Metadata::kKeep}) {
    options.metadata = metadata;
    const Resized out = resize_or_die(with_exif(photo(), 6), options);
    EXPECT_EQ(out.report.output.width_px, 100);
    EXPECT_EQ(out.report.output.height_px, 75);
    EXPECT_EQ(parse_or_die(out.bytes).orientation, 6);
  }
}

/// File upright, then turned, then flipped: orientation 6 and 90° are 180°, with a mirror 4.
TEST(ResizerOrientation, IsFollowedByTurnFlipAndPadding) {
  ResizeOptions options;
  options.width_px = 100;
  options.rotate = Rotation::k90;
  options.flip = Flip::kHorizontal;
  options.padding = {10, 20, 30, 40};
  options.metadata = Metadata::kKeep;
  const Resized out = resize_or_die(with_exif(photo(), 6), options);
  EXPECT_EQ(out.report.output.width_px, 160);
  EXPECT_EQ(out.report.output.height_px, 115);
  EXPECT_EQ(parse_or_die(out.bytes).orientation, 1);
  const auto luma = sample::decode(out.bytes).planes[0];
  for (int y = 5; y < 70; y += 7) {
    for (int x = 5; x < 95; x += 7) {
      ASSERT_NEAR(luma.at(40 + x, 10 + y), smooth(0, 2 * x + 1, 150 - 2 * y - 1), 8);
    }
  }
  for (const auto& [x, y] :
       {std::pair{5, 50}, std::pair{155, 50}, std::pair{80, 3}, std::pair{80, 112}}) {
    EXPECT_NEAR(luma.at(x, y), 255, 2) << x << ',' << y;
  }
}

TEST(ResizerOrientation, TurnsWhatIsStoredWhereItIsNotApplied) {
  ResizeOptions options;
  options.auto_orient = false;
  options.width_px = 75;
  options.rotate = Rotation::k90;
  const Resized out = resize_or_die(with_exif(photo(), 6), options);
  EXPECT_EQ(out.report.output.width_px, 75);
  EXPECT_EQ(out.report.output.height_px, 100);
  EXPECT_EQ(parse_or_die(out.bytes).orientation, 6);
}

TEST(ResizerMetadata, DensitiesChangePlacesWithTheAxes) {
  const Bytes plain = photo();
  ASSERT_EQ(plain[3], jpeg::marker::kApp0);
  const auto densities = [&](int orientation, Rotation rotate, bool upright) {
    Bytes wide = plain;
    const std::uint8_t units[] = {1, 0, 72, 0, 96};  // JFIF: dots per inch, then X and Y
    std::copy(std::begin(units), std::end(units), wide.begin() + 13);
    ResizeOptions options;
    options.auto_orient = upright;
    options.rotate = rotate;
    options.width_px = 50;
    const auto file = parse_or_die(resize_or_die(with_exif(wide, orientation), options).bytes);
    return file.jfif ? std::pair<int, int>(file.jfif->x_density, file.jfif->y_density)
                     : std::pair<int, int>();
  };
  const std::pair<int, int> kept(72, 96);
  const std::pair<int, int> exchanged(96, 72);
  EXPECT_EQ(densities(1, Rotation::kNone, true), kept);
  EXPECT_EQ(densities(6, Rotation::kNone, true), exchanged);
  EXPECT_EQ(densities(6, Rotation::kNone, false), kept);
  EXPECT_EQ(densities(1, Rotation::k270, true), exchanged);
  EXPECT_EQ(densities(6, Rotation::k270, true), kept);
  EXPECT_EQ(densities(6, Rotation::k90, false), exchanged);
  EXPECT_EQ(densities(1, Rotation::k180, true), kept);
}

TEST(ResizerMetadata, StripCopyrightKeep) {
  const Bytes jpeg = with_exif(photo(), 1);
  const auto summary = [&](Metadata metadata) {
    ResizeOptions options;
    options.metadata = metadata;
    const Resized out = resize_or_die(jpeg, options);
    const auto file = parse_or_die(out.bytes);
    EXPECT_EQ(sample::decode(out.bytes).warnings, 0);
    const auto exif = jpeg::read_exif(file.exif);
    const bool comment = std::any_of(file.segments.begin(), file.segments.end(),
                                     [](const jpeg::Segment& s) { return s.marker == 0xFE; });
    return (exif ? exif->artist + "/" + exif->copyright : std::string("none")) +
           (comment ? " comment" : "");
  };
  EXPECT_EQ(summary(Metadata::kStrip), "none");
  EXPECT_EQ(summary(Metadata::kCopyright), "Somebody/Nobody");
  EXPECT_EQ(summary(Metadata::kKeep), "Somebody/Nobody comment");
}

TEST(ResizerMetadata, RegionsLeaveWithWhatIsCroppedTurnedOrPadded) {
  const std::string_view packet =
      "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description "
      "rdf:about=\"\" xmlns:r=\"http://www.metadataworkinggroup.com/schemas/regions/\" "
      "xmlns:e=\"http://ns.adobe.com/exif/1.0/\" r:Regions=\"Ann\" "
      "e:SubjectLocation=\"70 50\"/></rdf:RDF>";
  const auto found = [&](int orientation, const auto& change) {
    ResizeOptions options;
    options.metadata = Metadata::kKeep;
    change(options);
    const Bytes input = sample::with_segments(with_exif(photo(), orientation),
                                              {{0xE1, tagged(jpeg::kXmpId, packet)}});
    const Resized out = resize_or_die(input, options);
    const std::string xmp(jpeg::as_text(parse_or_die(out.bytes).xmp));
    return std::string(xmp.find("Ann") == xmp.npos ? "" : "region ") +
           (xmp.find("70 50") == xmp.npos ? "" : "pixel");
  };
  const auto smaller = [](ResizeOptions& o) { o.width_px = 100; };
  EXPECT_EQ(found(1, [](ResizeOptions&) {}), "region pixel");
  EXPECT_EQ(found(1, smaller), "region ");
  EXPECT_EQ(found(6, smaller), "");
  EXPECT_EQ(found(6,
                  [](ResizeOptions& o) {
                    o.width_px = 100;
                    o.auto_orient = false;
                  }),
            "region ");
  EXPECT_EQ(found(1,
                  [](ResizeOptions& o) {
                    o.width_px = o.height_px = 100;
                    o.resize = ResizeMode::kFill;
                  }),
            "");
  EXPECT_EQ(found(1,
                  [](ResizeOptions& o) {
                    o.width_px = o.height_px = 100;
                    o.has_background = true;
                  }),
            "");
  EXPECT_EQ(found(1, [](ResizeOptions& o) { o.flip = Flip::kHorizontal; }), "");
  EXPECT_EQ(found(1, [](ResizeOptions& o) { o.rotate = Rotation::k180; }), "");
  EXPECT_EQ(found(1, [](ResizeOptions& o) { o.padding.left_px = 1; }), "");
}

// --- colour ---------------------------------------------------------------------------------

Bytes with_icc(const Bytes& jpeg, const Bytes& icc) {
  Bytes out;
  jpeg::write_marker(out, jpeg::marker::kSoi);
  EXPECT_TRUE(jpeg::write_icc(out, icc));
  jpeg::append_bytes(out, std::span(jpeg).subspan(2));
  return out;
}

double flat_red(int component, double, double) {
  return component == 0 ? 90 : component == 1 ? 110 : 200;
}

TEST(ResizerColor, AProfileIsConvertedOrKept) {
  const Bytes icc = test::wide_profile();
  const Bytes jpeg = with_icc(sample::make({64, 64, JCS_YCbCr, 1, 1, 95}, flat_red), icc);
  const Resized converted = resize_or_die(jpeg);
  EXPECT_TRUE(converted.report.color_converted);
  EXPECT_TRUE(parse_or_die(converted.bytes).icc.empty());
  const Decoded a = sample::decode(converted.bytes);
  EXPECT_GT(a.planes[2].at(30, 30), 205) << "a P3 red is a stronger sRGB red";
  ResizeOptions options;
  options.color = ColorMode::kKeep;
  const Resized kept = resize_or_die(jpeg, options);
  EXPECT_FALSE(kept.report.color_converted);
  EXPECT_EQ(parse_or_die(kept.bytes).icc, icc);
  EXPECT_NEAR(sample::decode(kept.bytes).planes[2].at(30, 30), 200, 2);
}

TEST(ResizerColor, AnSrgbProfileNeedsNoConversion) {
  const Bytes icc = color::testing_profiles::save(cmsCreate_sRGBProfile());
  const Resized out = resize_or_die(with_icc(photo(), icc));
  EXPECT_FALSE(out.report.color_converted);
  EXPECT_EQ(out.bytes, resize_or_die(photo()).bytes);
}

TEST(ResizerColor, ABrokenProfileIsIgnoredWithAWarning) {
  const Bytes jpeg = with_icc(photo(), Bytes(500, 'x'));
  const Resized out = resize_or_die(jpeg);
  EXPECT_THAT(kinds(out.report), ElementsAre("icc_ignored"));
  EXPECT_EQ(out.bytes, resize_or_die(photo()).bytes);
  ResizeOptions options;
  options.color = ColorMode::kKeep;
  EXPECT_TRUE(parse_or_die(resize_or_die(jpeg, options).bytes).icc.empty());
  options.strict = true;
  EXPECT_EQ(refusal(jpeg, options), StatusCode::kInvalidInput);
}

TEST(ResizerColor, CmykBecomesColourOrStays) {
  const Bytes jpeg = sample::make({64, 64, JCS_CMYK, 1, 1, 95}, [](int c, double, double) {
    return c == 0 ? 40.0 : c == 3 ? 200.0 : 255.0;  // inverted: much cyan, some black
  });
  const Resized out = resize_or_die(jpeg);
  EXPECT_TRUE(out.report.color_converted);
  EXPECT_EQ(out.report.output.components, 3);
  const Decoded decoded = sample::decode(out.bytes);
  const double r = 40.0 * 200 / 255, g = 200, b = 200;
  EXPECT_NEAR(decoded.planes[0].at(30, 30), 0.299 * r + 0.587 * g + 0.114 * b, 2);
  ResizeOptions options;
  options.color = ColorMode::kKeep;
  const Resized kept = resize_or_die(jpeg, options);
  EXPECT_EQ(kept.report.output.components, 4);
  EXPECT_TRUE(parse_or_die(kept.bytes).adobe_transform.has_value());
  EXPECT_NEAR(sample::decode(kept.bytes).planes[0].at(30, 30), 40, 2);
}

// --- gain maps ------------------------------------------------------------------------------

TEST(ResizerGainMap, IsKeptAndResizedAndFoundAgain) {
  for (const Metadata metadata : {Metadata::kStrip, Metadata::kKeep}) {
    ResizeOptions options;
    options.width_px = 100;
    options.metadata = metadata;
    const Resized out = resize_or_die(ultra_hdr(), options);
    EXPECT_TRUE(out.report.gain_map_kept);
    EXPECT_THAT(kinds(out.report), IsEmpty());
    const auto file = parse_or_die(out.bytes);
    EXPECT_THAT(file.warnings, IsEmpty());
    ASSERT_TRUE(file.gain_map);
    ASSERT_EQ(file.mpf.size(), 2u);
    const auto found = jpeg::gain_map_bytes(file);
    EXPECT_EQ(file.mpf[1].offset + file.mpf[1].bytes, out.bytes.size());
    EXPECT_EQ(found.size(), file.mpf[1].bytes);
    EXPECT_EQ(file.mpf[0].bytes, file.end_offset);
    const std::string xmp(file.xmp.begin(), file.xmp.end());
    EXPECT_THAT(xmp, HasSubstr("Length=\"" + std::to_string(found.size()) + "\""));
    const auto map = parse_or_die(found);
    EXPECT_TRUE(jpeg::xmp_declares_gain_map(map.xmp));
    const Decoded decoded = sample::decode(found);
    EXPECT_EQ(decoded.width_px, 25);
    EXPECT_EQ(decoded.height_px, 20);
    for (int y = 3; y < 17; ++y) {
      for (int x = 3; x < 22; ++x) {
        ASSERT_NEAR(decoded.planes[0].at(x, y), 40 + 2 * (2 * x + 1) - (2 * y + 1) / 2.0, 4);
      }
    }
    EXPECT_EQ(sample::decode(out.bytes).width_px, 100) << "the primary by itself";
  }
}

TEST(ResizerGainMap, IsTurnedWithItsPrimary) {
  ResizeOptions options;
  options.width_px = 80;
  options.rotate = Rotation::k90;
  const Resized out = resize_or_die(ultra_hdr(), options);
  EXPECT_TRUE(out.report.gain_map_kept);
  const auto file = parse_or_die(out.bytes);
  ASSERT_TRUE(file.gain_map);
  const Decoded decoded = sample::decode(jpeg::gain_map_bytes(file));
  ASSERT_EQ(decoded.width_px, 20);
  ASSERT_EQ(decoded.height_px, 25);
  for (int y = 3; y < 22; ++y) {
    for (int x = 3; x < 17; ++x) {
      // Stored at (2y, 40 − 2x).
      ASSERT_NEAR(decoded.planes[0].at(x, y), 40 + 2 * (2 * y + 1) - (40 - 2 * x - 1) / 2.0, 4);
    }
  }
}

// One of other components than the gain map's says which primaries the alternate has.
TEST(ResizerGainMap, KeepsItsProfileAndNothingThatIsNone) {
  const auto with_profile = [](std::string_view profile) {
    const Bytes segment = test::tagged(std::string_view("ICC_PROFILE\0\1\1", 14), profile);
    return ultra_hdr(sample::with_segments(test::gain_map_stream(), {{0xE2, segment}}));
  };
  const auto tells = [](const Resized& out, std::string_view what) {
    return std::string_view(reinterpret_cast<const char*>(out.bytes.data()), out.bytes.size())
               .find(what) != std::string_view::npos;
  };
  const Bytes& wide = test::wide_profile();
  const std::string_view profile(reinterpret_cast<const char*>(wide.data()), wide.size());
  ResizeOptions options;
  options.width_px = 100;
  EXPECT_TRUE(tells(resize_or_die(with_profile(profile), options), profile));
  const std::string_view none = "where it was taken";
  EXPECT_FALSE(tells(resize_or_die(with_profile(none), options), none));
}

TEST(ResizerGainMap, CountsTowardsMaxBytes) {
  ResizeOptions options;
  options.width_px = 150;
  const std::size_t free_size = resize_or_die(ultra_hdr(), options).bytes.size();
  options.max_bytes = free_size - 300;
  const Resized out = resize_or_die(ultra_hdr(), options);
  EXPECT_TRUE(out.report.gain_map_kept);
  EXPECT_LE(out.bytes.size(), options.max_bytes);
  EXPECT_LT(out.report.quality, 80);
}

TEST(ResizerGainMap, IsDroppedWithAWord) {
  ResizeOptions options;
  options.gain_map = GainMap::kDrop;
  const Resized dropped = resize_or_die(ultra_hdr(), options);
  EXPECT_THAT(kinds(dropped.report), ElementsAre("gain_map_dropped"));
  EXPECT_FALSE(dropped.report.gain_map_kept);
  const auto file = parse_or_die(dropped.bytes);
  EXPECT_FALSE(file.gain_map);
  EXPECT_THAT(file.warnings, IsEmpty()) << "nothing describes what is not there";
  EXPECT_EQ(dropped.bytes.size(), file.end_offset);
}

TEST(ResizerGainMap, ThatCannotBeCarriedIsDropped) {
  ResizeOptions options;
  const Bytes cmyk_map = ultra_hdr(gain_map_stream(JCS_CMYK));
  EXPECT_THAT(kinds(resize_or_die(cmyk_map, options).report), ElementsAre("gain_map_dropped"));
  options.strict = true;
  EXPECT_EQ(refusal(cmyk_map, options), StatusCode::kUnsupported);
  const auto refused = Resizer().resize(cmyk_map, options);
  EXPECT_TRUE(refused.error().message().starts_with("gain_map_dropped: "));
  EXPECT_TRUE(refused.error().message().ends_with(codec::kStrictNote));
  options.width_px = options.height_px = 300;
  options.has_background = true;
  EXPECT_THAT(kinds(resize_or_die(ultra_hdr(), options).report), ElementsAre("gain_map_dropped"))
      << "a choice of the request is no fault of the file";
  ResizeOptions padded;
  padded.padding.top_px = 8;
  EXPECT_THAT(kinds(resize_or_die(ultra_hdr(), padded).report), ElementsAre("gain_map_dropped"));
}

TEST(ResizerGainMap, ItsFaultsAreReported) {
  const Bytes map = gain_map_stream();
  const Bytes jpeg = ultra_hdr(Bytes(map.begin(), map.end() - 60));
  const Resized out = resize_or_die(jpeg);
  EXPECT_TRUE(out.report.gain_map_kept);
  ASSERT_THAT(kinds(out.report), ElementsAre("truncated"));
  EXPECT_THAT(out.report.warnings[0].message, HasSubstr("gain map"));
  ResizeOptions options;
  options.strict = true;
  EXPECT_EQ(refusal(jpeg, options), StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace framewire
