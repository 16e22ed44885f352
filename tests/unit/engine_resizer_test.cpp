// The public API from bytes to bytes: what the report says, and what libjpeg reads of the output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lcms2.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <framewire/resizer.hpp>
#include <jpeg/bytes.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/head.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/xmp.hpp>
#include <string_view>
#include <thread>
#include "jpeg_tiny.hpp"
#include "sample_jpeg.hpp"

namespace framewire {
namespace {

using sample::Bytes;
using sample::Decoded;
using sample::Spec;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

double smooth(int component, double x, double y) {
  return 128 + 70 * std::sin(x / 17 + component) + 45 * std::cos(y / 13 - component);
}

Bytes photo(int width = 200, int height = 150) {
  return sample::make({width, height, JCS_YCbCr, 2, 2, 90}, smooth);
}

Resized resize_or_die(const Bytes& jpeg, const ResizeOptions& options = {}) {
  static const Resizer resizer;
  auto resized = resizer.resize(jpeg, options);
  if (!resized) throw std::runtime_error(resized.error().to_string());
  return std::move(*resized);
}

StatusCode refusal(const Bytes& jpeg, const ResizeOptions& options = {}) {
  const auto resized = Resizer().resize(jpeg, options);
  EXPECT_FALSE(resized);
  return resized ? StatusCode::kInternal : resized.error().code();
}

jpeg::JpegFile parse_or_die(std::span<const std::uint8_t> bytes) {
  auto file = jpeg::parse(bytes, {});
  if (!file) throw std::runtime_error(file.error().to_string());
  return std::move(*file);
}

std::vector<std::string> kinds(const Report& report) {
  std::vector<std::string> out;
  for (const Warning& w : report.warnings) out.push_back(w.kind);
  return out;
}

TEST(Resizer, DefaultsAreThoseOfAGoodImageService) {
  const Bytes jpeg = photo();
  ResizeOptions options;
  options.width_px = 100;
  const Resized out = resize_or_die(jpeg, options);
  EXPECT_EQ(out.report.input.width_px, 200);
  EXPECT_EQ(out.report.input.height_px, 150);
  EXPECT_EQ(out.report.input.bytes, jpeg.size());
  EXPECT_EQ(out.report.input.components, 3);
  EXPECT_EQ(out.report.input.sampling, "420");
  EXPECT_EQ(out.report.input.process, "baseline");
  EXPECT_EQ(out.report.output.width_px, 100);
  EXPECT_EQ(out.report.output.height_px, 75);
  EXPECT_EQ(out.report.output.bytes, out.bytes.size());
  EXPECT_EQ(out.report.output.sampling, "420");
  EXPECT_EQ(out.report.output.process, "baseline");
  EXPECT_EQ(out.report.quality, 80);
  EXPECT_EQ(out.report.decode_scale, 8);
  EXPECT_FALSE(out.report.color_converted);
  EXPECT_FALSE(out.report.gain_map_kept);
  EXPECT_GT(out.report.times.total_us, 0);
  EXPECT_THAT(out.report.warnings, IsEmpty());
  const Decoded decoded = sample::decode(out.bytes);
  EXPECT_EQ(decoded.warnings, 0);
  EXPECT_EQ(decoded.width_px, 100);
  EXPECT_EQ(decoded.height_px, 75);
  for (int y = 5; y < 70; ++y)
    for (int x = 5; x < 95; ++x)
      ASSERT_NEAR(decoded.planes[0].at(x, y), smooth(0, 2 * x + 1, 2 * y + 1), 6);
}

TEST(Resizer, EveryCodecChoice) {
  const Bytes jpeg = photo();
  ResizeOptions options;
  options.width_px = 40;
  const auto with = [&](CodecKind kind) {
    options.codec = kind;
    return resize_or_die(jpeg, options);
  };
  const Resized turbo = with(CodecKind::kTurbo);
  EXPECT_EQ(turbo.report.codec, CodecKind::kTurbo);
  EXPECT_EQ(turbo.report.codec_reason, "requested");
  EXPECT_EQ(turbo.report.decode_scale, 4);
  const Resized reference = with(CodecKind::kReference);
  EXPECT_EQ(reference.report.codec, CodecKind::kReference);
  const Resized automatic = with(CodecKind::kAuto);
  EXPECT_NE(automatic.report.codec, CodecKind::kAuto);
  EXPECT_FALSE(automatic.report.codec_reason.empty());
  EXPECT_EQ(reference.report.output.width_px, turbo.report.output.width_px);
  const auto apart = sample::difference(sample::decode(turbo.bytes).planes[0].samples,
                                        sample::decode(reference.bytes).planes[0].samples);
  EXPECT_LT(apart.mean, 1);
}

TEST(Resizer, ACodecThatThisBuildLacksIsNoFallback) {
  ResizeOptions options;
  options.codec = CodecKind::kNvjpeg;
  const auto out = Resizer().resize(photo(), options);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().subject(), "codec");
  EXPECT_THAT(out.error().message(), HasSubstr("turbo"));
}

TEST(Resizer, OptionsAreCheckedFirst) {
  ResizeOptions options;
  options.quality = 0;
  const auto out = Resizer().resize(Bytes{}, options);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(out.error().subject(), "quality");
}

TEST(Resizer, WhatIsNoJpegIsInvalid) {
  EXPECT_EQ(refusal({}), StatusCode::kInvalidInput);
  EXPECT_EQ(refusal({'P', 'N', 'G'}), StatusCode::kInvalidInput);
  EXPECT_EQ(refusal(Bytes(1000, 0)), StatusCode::kInvalidInput);
}

TEST(Resizer, TwelveBitsAndLosslessAreUnsupported) {
  Bytes twelve = photo();
  const std::size_t sof = jpeg::tiny::find_marker(twelve, 0xC0);
  twelve[sof + 1] = 0xC1;
  twelve[sof + 4] = 12;
  EXPECT_EQ(refusal(twelve), StatusCode::kUnsupported);
  Bytes lossless = photo();
  lossless[sof + 1] = 0xC3;
  EXPECT_EQ(refusal(lossless), StatusCode::kUnsupported);
}

/// The header of a small file, claiming to be something else.
Bytes claiming(int width, int height) {
  Bytes jpeg = photo(16, 16);
  const std::size_t sof = jpeg::tiny::find_marker(jpeg, 0xC0);
  jpeg[sof + 5] = static_cast<std::uint8_t>(height >> 8);
  jpeg[sof + 6] = static_cast<std::uint8_t>(height);
  jpeg[sof + 7] = static_cast<std::uint8_t>(width >> 8);
  jpeg[sof + 8] = static_cast<std::uint8_t>(width);
  return jpeg;
}

TEST(Resizer, LimitsAreCheckedBeforeAnythingIsAllocated) {
  const Bytes giant = claiming(20'000, 14'000);  // 280 megapixels in a few hundred bytes
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(refusal(giant), StatusCode::kTooLarge);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  ResizeOptions options;
  options.limits.max_input_pixels = 200 * 150 - 1;
  EXPECT_EQ(refusal(photo(), options), StatusCode::kTooLarge);
  options.limits.max_input_pixels = 200 * 150;
  EXPECT_EQ(resize_or_die(photo(), options).report.output.width_px, 200);
  options = {};
  options.limits.max_input_bytes = 100;
  EXPECT_EQ(refusal(photo(), options), StatusCode::kTooLarge);
  options = {};
  options.limits.max_output_pixels = 1000;
  EXPECT_EQ(refusal(photo(), options), StatusCode::kTooLarge);
  options = {};
  options.limits.max_scans = 5;
  Spec progressive{200, 150, JCS_YCbCr, 2, 2, 90};
  progressive.progressive = true;
  EXPECT_EQ(refusal(sample::make(progressive, smooth), options), StatusCode::kTooLarge);
}

TEST(Resizer, ManyThreadsOneResizerSameBytes) {
  const Resizer resizer;
  std::vector<Bytes> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back(photo(150 + 10 * i, 120));
  inputs.push_back(sample::make({150, 120, JCS_CMYK, 1, 1, 90}, smooth));
  ResizeOptions options;
  options.width_px = 60;
  std::vector<Bytes> expected;
  for (const Bytes& input : inputs) expected.push_back(resizer.resize(input, options)->bytes);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 25; ++i) {
        const std::size_t at = (i + t) % inputs.size();
        const auto out = resizer.resize(inputs[at], options);
        if (!out || out->bytes != expected[at]) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Resizer, MovesAndIsUsedAgain) {
  Resizer first;
  const Bytes a = first.resize(photo(), {})->bytes;
  Resizer second = std::move(first);
  EXPECT_EQ(second.resize(photo(), {})->bytes, a);
}

// --- truncation -----------------------------------------------------------------------------

Bytes half(const Bytes& jpeg) {
  return Bytes(jpeg.begin(), jpeg.begin() + static_cast<std::ptrdiff_t>(jpeg.size() / 2));
}

TEST(ResizerTruncated, IsSaidOnceAndTheRestIsGrey) {
  const Bytes jpeg = half(photo(800, 600));
  for (const CodecKind codec : {CodecKind::kTurbo, CodecKind::kReference})
    for (const int width : {800, 400, 100}) {
      if (codec == CodecKind::kReference && width == 800) continue;  // slow
      ResizeOptions options;
      options.codec = codec;
      options.width_px = width;
      const Resized out = resize_or_die(jpeg, options);
      EXPECT_THAT(kinds(out.report), ElementsAre("truncated")) << width;
      const Decoded decoded = sample::decode(out.bytes);
      for (const auto& plane : decoded.planes)
        for (int y = plane.height_px * 3 / 4; y < plane.height_px; ++y)
          for (int x = 0; x < plane.width_px; ++x)
            ASSERT_EQ(plane.at(x, y), 128) << width << " at " << x << ',' << y;
      EXPECT_NEAR(decoded.planes[0].at(5, 5), smooth(0, 5.5 * 800 / width, 5.5 * 800 / width), 10);
    }
}

TEST(ResizerTruncated, StrictRefuses) {
  ResizeOptions options;
  options.strict = true;
  EXPECT_EQ(refusal(half(photo()), options), StatusCode::kInvalidInput);
  EXPECT_TRUE(Resizer().resize(photo(), options));
}

// --- orientation and metadata ---------------------------------------------------------------

Bytes payload(std::string_view id, const Bytes& data) {
  Bytes out;
  jpeg::append_text(out, id);
  jpeg::append_bytes(out, data);
  return out;
}

Bytes with_exif(const Bytes& jpeg, int orientation) {
  jpeg::ExifSummary exif;
  exif.orientation = orientation;
  exif.artist = "Somebody";
  exif.copyright = "Nobody";
  return sample::with_segments(jpeg, {{0xE1, payload(jpeg::kExifId, jpeg::make_exif(exif))},
                                      {0xFE, {'h', 'e', 'l', 'l', 'o'}}});
}

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
    for (int y = 10; y < 90; y += 7)
      for (int x = 10; x < 65; x += 7)
        ASSERT_NEAR(decoded.planes[0].at(x, y), smooth(0, 2 * y + 1, 150 - 2 * x - 1), 8);
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

// --- colour ---------------------------------------------------------------------------------

Bytes profile_bytes(double red_x, double red_y, double gamma) {
  const cmsCIExyY white{0.3127, 0.3290, 1};
  const cmsCIExyYTRIPLE primaries{{red_x, red_y, 1}, {0.265, 0.69, 1}, {0.15, 0.06, 1}};
  cmsToneCurve* curve = cmsBuildGamma(nullptr, gamma);
  cmsToneCurve* curves[3] = {curve, curve, curve};
  cmsHPROFILE profile = cmsCreateRGBProfile(&white, &primaries, curves);
  cmsFreeToneCurve(curve);
  cmsUInt32Number size = 0;
  cmsSaveProfileToMem(profile, nullptr, &size);
  Bytes out(size);
  cmsSaveProfileToMem(profile, out.data(), &size);
  cmsCloseProfile(profile);
  return out;
}

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
  const Bytes icc = profile_bytes(0.68, 0.32, 2.2);
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
  cmsHPROFILE srgb = cmsCreate_sRGBProfile();
  cmsUInt32Number size = 0;
  cmsSaveProfileToMem(srgb, nullptr, &size);
  Bytes icc(size);
  cmsSaveProfileToMem(srgb, icc.data(), &size);
  cmsCloseProfile(srgb);
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

constexpr std::string_view kGainMapXmp =
    "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF "
    "xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description rdf:about=\"\" "
    "xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\" hdrgm:Version=\"1.0\" "
    "hdrgm:GainMapMax=\"2.2\"/></rdf:RDF></x:xmpmeta>";

Bytes gain_map_stream(J_COLOR_SPACE space = JCS_GRAYSCALE) {
  const auto ramp = [](int, double x, double y) { return 40 + 2 * x - y / 2; };
  return sample::with_segments(
      sample::make({50, 40, space, 1, 1, 95}, ramp),
      {{0xE1, payload(jpeg::kXmpId, Bytes(kGainMapXmp.begin(), kGainMapXmp.end()))}});
}

/// A 200×160 picture with a gain map, as cameras write them.
Bytes ultra_hdr(const Bytes& gain_map = gain_map_stream()) {
  const std::string xmp = jpeg::make_gain_map_xmp(gain_map.size());
  Bytes out = {0xFF, 0xD8};
  jpeg::write_segment(out, 0xE1, payload(jpeg::kXmpId, Bytes(xmp.begin(), xmp.end())));
  jpeg::write_segment(out, 0xE2, jpeg::make_mpf(out.size() + 4, 0, 0));
  const Bytes primary = photo(200, 160);
  out.insert(out.end(), primary.begin() + 2, primary.end());
  EXPECT_TRUE(jpeg::append_gain_map(out, gain_map));
  return out;
}

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
    for (int y = 3; y < 17; ++y)
      for (int x = 3; x < 22; ++x)
        ASSERT_NEAR(decoded.planes[0].at(x, y), 40 + 2 * (2 * x + 1) - (2 * y + 1) / 2.0, 4);
    EXPECT_EQ(sample::decode(out.bytes).width_px, 100) << "the primary by itself";
  }
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
  options.width_px = options.height_px = 300;
  options.has_background = true;
  EXPECT_THAT(kinds(resize_or_die(ultra_hdr(), options).report), ElementsAre("gain_map_dropped"))
      << "a choice of the request is no fault of the file";
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
