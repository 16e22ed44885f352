// The original handed on: where nothing has to change and encoding would only make it larger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <jpeg/bytes.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/markers.hpp>
#include <string>
#include <string_view>
#include <tests/support/sample_jpeg.hpp>
#include <tests/support/tiny_jpeg.hpp>
#include <tests/unit/engine/metadata_parts.hpp>
#include <tests/unit/engine/resized.hpp>
#include <utility>
#include <vector>

namespace framewire {
namespace {

using sample::Bytes;
using sample::Spec;
using test::parse_or_die;
using test::photo;
using test::resize_or_die;
using test::smooth;
using test::with_exif;
using testing::IsEmpty;

/// Coarsely quantised: at the default quality it comes out larger.
Bytes small_file(Spec spec = {200, 150, JCS_YCbCr, 2, 2, 40}) { return sample::make(spec, smooth); }

ResizeOptions with(const std::vector<std::pair<std::string, std::string>>& words) {
  ResizeOptions options;
  for (const auto& [name, value] : words) {
    EXPECT_TRUE(set_option(options, name, value)) << name << '=' << value;
  }
  return options;
}

/// From the first quantisation table to EOI.
Bytes body_of(const Bytes& jpeg) {
  const auto file = parse_or_die(jpeg);
  const auto begin = static_cast<std::ptrdiff_t>(jpeg::tiny::find_marker(jpeg, 0xDB));
  return {jpeg.begin() + begin, jpeg.begin() + static_cast<std::ptrdiff_t>(file.end_offset)};
}

TEST(HandOn, WhatNeedsNoChangeKeepsItsBytes) {
  const Bytes jpeg = small_file();
  for (const CodecKind codec : {CodecKind::kTurbo, CodecKind::kReference}) {
    ResizeOptions options = with({{"size", "1024x1024"}});
    options.codec = codec;
    const Resized out = resize_or_die(jpeg, options);
    EXPECT_TRUE(out.report.original_kept);
    EXPECT_EQ(out.report.codec, codec);
    EXPECT_EQ(out.report.quality, 0);
    EXPECT_EQ(body_of(out.bytes), body_of(jpeg));
    EXPECT_LE(out.bytes.size(), jpeg.size());
    EXPECT_EQ(out.report.output.bytes, out.bytes.size());
    EXPECT_EQ(sample::decode(out.bytes).planes[0].samples, sample::decode(jpeg).planes[0].samples);
    options.always_encode = true;
    const Resized encoded = resize_or_die(jpeg, options);
    EXPECT_FALSE(encoded.report.original_kept);
    EXPECT_EQ(encoded.report.quality, 80);
    EXPECT_GT(encoded.bytes.size(), out.bytes.size());
  }
}

TEST(HandOn, WhatGetsSmallerIsEncoded) {
  const Bytes jpeg = sample::make({200, 150, JCS_YCbCr, 1, 1, 98}, smooth);
  const Resized out = resize_or_die(jpeg);
  EXPECT_FALSE(out.report.original_kept);
  EXPECT_EQ(out.report.quality, 80);
  EXPECT_LT(out.bytes.size(), jpeg.size());
}

TEST(HandOn, OnlyWhereNothingIsAskedOfTheEncoder) {
  const Bytes jpeg = small_file();
  const std::vector<std::pair<std::string, std::string>> asking = {
      {"quality", "81"},    {"sampling", "444"},      {"sampling", "keep"},
      {"sampling", "gray"}, {"progressive", ""},      {"max-bytes", "50k"},
      {"sharpen", "1"},     {"optimize-huffman", ""}, {"restart-interval", "4"},
      {"always-encode", ""}};
  for (const auto& option : asking) {
    EXPECT_FALSE(resize_or_die(jpeg, with({option})).report.original_kept) << option.first;
  }
  const std::vector<std::vector<std::pair<std::string, std::string>>> changing = {
      {{"size", "199"}},
      {{"crop", "200x149"}},
      {{"size", "400"}, {"enlarge", ""}},
      {{"size", "200x200"}, {"background", "ffffff"}},
      {{"size", "100x150"}, {"resize", "fill"}}};
  for (const auto& options : changing) {
    EXPECT_FALSE(resize_or_die(jpeg, with(options)).report.original_kept) << options[0].second;
  }
}

TEST(HandOn, WhateverElseIsAskedThatChangesNothing) {
  const Bytes jpeg = small_file();
  const std::vector<std::vector<std::pair<std::string, std::string>>> harmless = {
      {},
      {{"size", "200x150"}},
      {{"size", "100"}, {"dpr", "2"}},
      {{"crop", "300x150"}, {"gravity", "fp:0.1:0.2"}},
      {{"size", "200x150"}, {"background", "ffffff"}},
      {{"size", "200x150"}, {"resize", "fill"}, {"kernel", "area"}},
      {{"metadata", "keep"}},
      {{"metadata", "copyright"}},
      {{"color", "keep"}},
      {{"gain-map", "drop"}},
      {{"quality", "80"}, {"sampling", "420"}},
      {{"no-auto-orient", ""}},
      {{"strict", ""}}};
  for (const auto& options : harmless) {
    const Resized out = resize_or_die(jpeg, with(options));
    EXPECT_TRUE(out.report.original_kept) << to_string(with(options));
    EXPECT_EQ(body_of(out.bytes), body_of(jpeg));
  }
}

TEST(HandOn, MetadataIsTreatedAsAsked) {
  Bytes jpeg = with_exif(small_file(), 1);
  const Bytes secret = {'s', 'e', 'c', 'r', 'e', 't', 0xFF, 0xD9};
  jpeg.insert(jpeg.end(), secret.begin(), secret.end());
  for (const auto& [mode, says] : std::vector<std::pair<std::string, std::string>>{
           {"strip", ""}, {"copyright", "Nobody"}, {"keep", "Nobody comment"}}) {
    const Resized out = resize_or_die(jpeg, with({{"metadata", mode}}));
    EXPECT_TRUE(out.report.original_kept) << mode;
    EXPECT_EQ(body_of(out.bytes), body_of(jpeg));
    const auto file = parse_or_die(out.bytes);
    EXPECT_EQ(file.end_offset, out.bytes.size()) << "bytes behind EOI travel along";
    const auto exif = jpeg::read_exif(file.exif);
    const bool comment = std::ranges::any_of(
        file.segments, [](const jpeg::Segment& s) { return s.marker == jpeg::marker::kCom; });
    EXPECT_EQ((exif ? exif->copyright : "") + (comment ? " comment" : ""), says);
  }
}

TEST(HandOn, ATurnedPictureIsEncodedUnlessItMayStayTurned) {
  const Bytes jpeg = with_exif(small_file(), 6);
  const Resized turned = resize_or_die(jpeg);
  EXPECT_FALSE(turned.report.original_kept);
  EXPECT_EQ(turned.report.output.width_px, 150);
  const Resized stays = resize_or_die(jpeg, with({{"no-auto-orient", ""}}));
  EXPECT_TRUE(stays.report.original_kept);
  EXPECT_EQ(parse_or_die(stays.bytes).orientation, 6);
}

TEST(HandOn, WhatTheOutputIsSaidToBeIsTheOriginal) {
  Spec progressive{200, 150, JCS_YCbCr, 2, 1, 40};
  progressive.progressive = true;
  const Resized out = resize_or_die(small_file(progressive));
  EXPECT_TRUE(out.report.original_kept);
  EXPECT_EQ(out.report.output.process, "progressive");
  EXPECT_EQ(out.report.output.sampling, "422");
  EXPECT_EQ(out.report.output.width_px, 200);
  const Resized gray = resize_or_die(small_file({200, 150, JCS_GRAYSCALE, 1, 1, 40}));
  EXPECT_TRUE(gray.report.original_kept);
  EXPECT_EQ(gray.report.output.components, 1);
}

// What browsers do not decode, or show in other colours, is made anew.
TEST(HandOn, NotWhatOthersReadDifferently) {
  Spec arithmetic{200, 150, JCS_YCbCr, 2, 2, 40};
  arithmetic.arithmetic = true;
  Spec separate{200, 150, JCS_YCbCr, 2, 2, 40};
  separate.separate_scans = true;
  const std::vector<std::pair<const char*, Bytes>> files = {
      {"arithmetic", small_file(arithmetic)},
      {"three scans", small_file(separate)},
      {"RGB", small_file({200, 150, JCS_RGB, 1, 1, 20})},
      {"CMYK", small_file({200, 150, JCS_CMYK, 1, 1, 20})}};
  for (const auto& [name, jpeg] : files) {
    EXPECT_FALSE(resize_or_die(jpeg).report.original_kept) << name;
    EXPECT_FALSE(resize_or_die(jpeg, with({{"color", "keep"}})).report.original_kept) << name;
  }
  // Motion JPEG: the standard Huffman tables are left out.
  Bytes without_tables;
  const Bytes whole = small_file();
  jpeg::append_bytes(without_tables, std::span(whole).first(2));
  const auto file = parse_or_die(whole);
  for (const jpeg::MarkerEntry& entry : file.markers) {
    if (entry.marker != jpeg::marker::kDht && entry.marker != jpeg::marker::kSoi) {
      jpeg::append_bytes(without_tables, std::span(whole).subspan(entry.offset, entry.bytes));
    }
  }
  const Resized made = resize_or_die(without_tables);
  EXPECT_THAT(made.report.warnings, IsEmpty());
  EXPECT_FALSE(made.report.original_kept);
  EXPECT_EQ(made.bytes, resize_or_die(whole, with({{"always-encode", ""}})).bytes);
}

TEST(HandOn, NeverADamagedFile) {
  const Bytes jpeg = small_file();
  const auto scan = parse_or_die(jpeg).scans[0];
  const auto at = [](Bytes& bytes, std::size_t offset) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  };
  Bytes cut = jpeg;
  cut.resize(cut.size() - 40);
  Bytes without_eoi = jpeg;
  without_eoi.resize(jpeg.size() - 2);
  Bytes stray = jpeg;  // a restart marker where none belongs
  const std::size_t middle = scan.entropy_offset + scan.entropy_bytes / 2;
  stray[middle] = 0xFF;
  stray[middle + 1] = 0xD5;
  Bytes second_frame = jpeg;  // a fault behind a scan that decodes
  const std::size_t sof = jpeg::tiny::find_marker(jpeg, 0xC0);
  second_frame.insert(at(second_frame, jpeg.size() - 2), jpeg.begin() + static_cast<int>(sof),
                      jpeg.begin() + static_cast<int>(sof) + 19);
  const std::vector<std::pair<const char*, Bytes>> files = {
      {"cut", cut}, {"without EOI", without_eoi}, {"stray", stray}, {"second frame", second_frame}};
  for (const auto& [name, bytes] : files) {
    const Resized out = resize_or_die(bytes);
    EXPECT_FALSE(out.report.warnings.empty()) << name;
    EXPECT_FALSE(out.report.original_kept) << name;
  }
}

// Decoders pass over what a scan has left when its last MCU is read; it would travel along.
TEST(HandOn, NothingHidesBehindTheLastMcu) {
  Spec progressive{200, 150, JCS_YCbCr, 2, 2, 40};
  progressive.progressive = true;
  for (const Spec& spec : {Spec{200, 150, JCS_YCbCr, 2, 2, 40}, progressive,
                           Spec{200, 150, JCS_GRAYSCALE, 1, 1, 40}}) {
    const Bytes jpeg = small_file(spec);
    ASSERT_TRUE(resize_or_die(jpeg).report.original_kept);
    for (const std::size_t hidden : {1u, 6u, 60u}) {
      Bytes bytes = jpeg;
      bytes.insert(bytes.end() - 2, hidden, 0x55);
      const Resized out = resize_or_die(bytes);
      EXPECT_FALSE(out.report.original_kept) << hidden;
      EXPECT_EQ(out.bytes, resize_or_die(jpeg, with({{"always-encode", ""}})).bytes);
    }
  }
}

// Nor do decoders look at what stands before a restart marker, as long as it is fill or padding.
TEST(HandOn, NothingHidesBeforeRestartMarkers) {
  Spec spec{200, 150, JCS_YCbCr, 2, 2, 40};
  spec.restart_mcus = 5;
  const Bytes jpeg = small_file(spec);
  ASSERT_TRUE(resize_or_die(jpeg).report.original_kept);
  const std::size_t marker = jpeg::tiny::find_marker(jpeg, 0xD2);
  for (const Bytes& hidden : {Bytes{0xFF}, Bytes{0xFF, 0xFF, 0xFF}, Bytes(2), Bytes{0xFF, 0x00}}) {
    Bytes bytes = jpeg;
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(marker), hidden.begin(), hidden.end());
    const Resized out = resize_or_die(bytes);
    EXPECT_THAT(out.report.warnings, IsEmpty());
    EXPECT_FALSE(out.report.original_kept);
    EXPECT_EQ(out.bytes, resize_or_die(jpeg, with({{"always-encode", ""}})).bytes);
  }
}

// Segments that decoders pass over would travel along, too.
TEST(HandOn, NothingHidesBetweenSegments) {
  const Bytes jpeg = small_file();
  ASSERT_TRUE(resize_or_die(jpeg).report.original_kept);
  const std::string_view hidden = "where it was taken";
  const auto segment = [&](std::uint8_t code, std::string_view before) {
    Bytes bytes = {0xFF, code, 0, static_cast<std::uint8_t>(2 + before.size() + hidden.size())};
    bytes.insert(bytes.end(), before.begin(), before.end());
    bytes.insert(bytes.end(), hidden.begin(), hidden.end());
    return bytes;
  };
  // Of a Huffman table in slot 3, 18 codes of length 12.
  const std::string unused_codes =
      std::string("\x13") + std::string(11, '\0') + '\x12' + std::string(4, '\0');
  const std::vector<std::pair<const char*, Bytes>> segments = {
      {"DNL", segment(0xDC, "")},
      {"an unused Huffman table", segment(0xC4, unused_codes)},
      {"an unused quantisation table", segment(0xDB, "\x03" + std::string(64 - 18, '1'))}};
  for (const auto& [name, bytes] : segments) {
    for (const std::size_t at : {std::size_t{2}, jpeg.size() - 2}) {
      Bytes file = jpeg;
      file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin(), bytes.end());
      const Resized made = resize_or_die(file);
      const std::string_view text(reinterpret_cast<const char*>(made.bytes.data()),
                                  made.bytes.size());
      EXPECT_EQ(text.find(hidden), std::string_view::npos) << name << " at " << at;
      EXPECT_FALSE(made.report.original_kept) << name << " at " << at;
    }
  }
}

// Every bad byte that a decoder notices keeps a file from being handed on: its warning does.
TEST(HandOn, OfFilesWithOneWrongByteOnlyThoseThatDecodeWithoutAWarning) {
  const Bytes jpeg = small_file({64, 48, JCS_YCbCr, 2, 2, 40});
  const auto scan = parse_or_die(jpeg).scans[0];
  int noticed = 0;
  for (std::size_t i = scan.entropy_offset; i < scan.entropy_offset + scan.entropy_bytes; ++i) {
    Bytes wrong = jpeg;
    wrong[i] ^= 0x5A;
    const Resized out = resize_or_die(wrong);
    if (out.report.warnings.empty()) continue;
    ++noticed;
    EXPECT_FALSE(out.report.original_kept) << "byte " << i;
  }
  EXPECT_GT(noticed, 10);
}

}  // namespace
}  // namespace framewire
