// EXIF, ICC and IPTC: read from, and rewritten for, files made here in both byte orders.
#include <gtest/gtest.h>
#include <algorithm>
#include <jpeg/exif.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/iptc.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/tiff.hpp>
#include <tests/support/tiny_jpeg.hpp>

namespace framewire::jpeg {
namespace {

/// Builds TIFF blocks of either byte order.
class TiffBuilder {
 public:
  explicit TiffBuilder(bool little) : little_(little) {
    append_text(bytes, little ? "II" : "MM");
    u16(42);
    u32(8);
  }
  void u16(std::uint32_t value) {
    append_u16(bytes, little_ ? (value >> 8 | (value & 0xFF) << 8) : value);
  }
  void u32(std::uint32_t value) {
    u16(little_ ? value & 0xFFFF : value >> 16);
    u16(little_ ? value >> 16 : value & 0xFFFF);
  }
  void entry(std::uint32_t tag, TiffType type, std::uint32_t count, std::uint32_t value) {
    u16(tag);
    u16(static_cast<std::uint32_t>(type));
    u32(count);
    if (type == TiffType::kShort) {
      u16(value);
      u16(0);
    } else {
      u32(value);
    }
  }
  Bytes bytes;

 private:
  bool little_;
};

constexpr std::size_t kThumbnailBytes = 40;

/// IFD0 {orientation, copyright, Exif pointer}, Exif IFD {X, Y dimension, colour space}, and at the
/// end IFD1 with a thumbnail of 0xEE bytes.
Bytes camera_block(bool little, std::uint32_t orientation) {
  TiffBuilder tiff(little);
  constexpr std::uint32_t kText = 8 + 2 + 3 * 12 + 4;
  constexpr std::uint32_t kExif = kText + 8;
  constexpr std::uint32_t kThumbnailIfd = kExif + 2 + 3 * 12 + 4;
  constexpr std::uint32_t kThumbnail = kThumbnailIfd + 2 + 2 * 12 + 4;
  tiff.u16(3);
  tiff.entry(0x0112, TiffType::kShort, 1, orientation);
  tiff.entry(0x8298, TiffType::kAscii, 7, kText);
  tiff.entry(0x8769, TiffType::kLong, 1, kExif);
  tiff.u32(kThumbnailIfd);
  append_text(tiff.bytes, std::string_view("(c) Me\0\0", 8));
  tiff.u16(3);
  tiff.entry(0xA001, TiffType::kShort, 1, 0xFFFF);
  tiff.entry(0xA002, TiffType::kLong, 1, 4000);
  tiff.entry(0xA003, TiffType::kShort, 1, 3000);
  tiff.u32(0);
  tiff.u16(2);
  tiff.entry(0x0201, TiffType::kLong, 1, kThumbnail);
  tiff.entry(0x0202, TiffType::kLong, 1, kThumbnailBytes);
  tiff.u32(0);
  tiff.bytes.resize(tiff.bytes.size() + kThumbnailBytes, 0xEE);
  return tiff.bytes;
}

Bytes exif_payload(const Bytes& block) {
  Bytes payload;
  append_text(payload, kExifId);
  append_bytes(payload, block);
  return payload;
}

TEST(JpegExif, ReadsBothByteOrders) {
  for (const bool little : {false, true}) {
    for (std::uint32_t orientation = 0; orientation < 12; ++orientation) {
      const auto summary = read_exif(camera_block(little, orientation));
      ASSERT_TRUE(summary);
      const bool sensible = orientation >= 1 && orientation <= 8;
      EXPECT_EQ(summary->orientation, sensible ? static_cast<int>(orientation) : 1);
      EXPECT_EQ(summary->copyright, "(c) Me");
      EXPECT_EQ(summary->artist, "");
    }
  }
}

TEST(JpegExif, TheParserFindsIt) {
  const auto bytes = tiny::baseline({{marker::kApp1, exif_payload(camera_block(true, 6))}});
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file);
  EXPECT_EQ(file->orientation, 6);
  EXPECT_EQ(file->exif.size(), camera_block(true, 6).size());
  EXPECT_TRUE(file->warnings.empty());
}

TEST(JpegExif, NonsenseIsIgnoredWithAWarning) {
  for (const Bytes& block : {Bytes{}, Bytes{'I', 'I', 42, 0}, Bytes(20, 0xFF),
                             Bytes{'I', 'I', 42, 0, 200, 0, 0, 0, 0, 0}}) {
    const auto bytes = tiny::baseline({{marker::kApp1, exif_payload(block)}});
    const auto file = parse(bytes, {});
    ASSERT_TRUE(file);
    EXPECT_EQ(file->orientation, 1);
    EXPECT_TRUE(file->exif.empty());
    ASSERT_EQ(file->warnings.size(), 1u);
    EXPECT_EQ(file->warnings[0].kind, WarningKind::kExifIgnored);
  }
}

std::uint32_t value_of(ByteSpan block, std::uint32_t directory_offset, std::uint16_t tag) {
  const auto view = TiffView::open(block);
  const auto directory = view->directory(directory_offset);
  const TiffEntry* entry = directory ? directory->find(tag) : nullptr;
  return entry == nullptr ? 0 : view->number(*entry).value_or(0);
}

TEST(JpegExif, ACopyIsCorrectedAndLosesItsThumbnail) {
  for (const bool little : {false, true}) {
    const Bytes original = camera_block(little, 6);
    const Bytes copy = rewrite_exif(original, {300, 400, true, true});
    ASSERT_FALSE(copy.empty());
    EXPECT_EQ(read_exif(copy)->orientation, 1);
    EXPECT_EQ(read_exif(copy)->copyright, "(c) Me");
    const std::uint32_t exif = value_of(copy, 8, 0x8769);
    EXPECT_EQ(value_of(copy, exif, 0xA002), 300u);
    EXPECT_EQ(value_of(copy, exif, 0xA003), 400u);
    EXPECT_EQ(value_of(copy, exif, 0xA001), 1u);
    EXPECT_LE(copy.size() + kThumbnailBytes, original.size());
    EXPECT_EQ(std::count(copy.begin(), copy.end(), 0xEE), 0);
    EXPECT_EQ(TiffView::open(copy)->directory(8)->next_offset, 0u);
  }
}

TEST(JpegExif, WhatIsNotToChangeStays) {
  const Bytes copy = rewrite_exif(camera_block(false, 6), {300, 400, false, false});
  EXPECT_EQ(read_exif(copy)->orientation, 6);
  EXPECT_EQ(value_of(copy, value_of(copy, 8, 0x8769), 0xA001), 0xFFFFu);
}

TEST(JpegExif, AThumbnailInTheMiddleIsZeroed) {
  Bytes block = camera_block(false, 6);
  // A copyright text at the very end keeps what lies before it.
  const std::size_t end = block.size();
  append_text(block, std::string_view("(c) Me\0", 7));
  block[8 + 2 + 12 + 8 + 3] = static_cast<std::uint8_t>(end);
  const Bytes copy = rewrite_exif(block, {300, 400, true, false});
  EXPECT_EQ(copy.size(), block.size());
  EXPECT_EQ(read_exif(copy)->copyright, "(c) Me");
  EXPECT_EQ(std::count(copy.begin(), copy.end(), 0xEE), 0);
}

TEST(JpegExif, AMinimalBlockReadsBack) {
  EXPECT_TRUE(make_exif({}).empty());
  for (const ExifSummary& wanted :
       {ExifSummary{6, "", ""}, ExifSummary{1, "Ann", ""}, ExifSummary{1, "", "(c) 2024 Ann"},
        ExifSummary{8, "Somebody Long", "x"}}) {
    const auto summary = read_exif(make_exif(wanted));
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->orientation, wanted.orientation);
    EXPECT_EQ(summary->artist, wanted.artist);
    EXPECT_EQ(summary->copyright, wanted.copyright);
  }
  EXPECT_TRUE(make_exif({1, std::string(70'000, 'x'), ""}).empty());
}

TEST(JpegExif, DamageOfAnyByteIsSurvived) {
  const Bytes whole = camera_block(true, 6);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0, 1, 0x7F, 0x80, 0xFF}) {
      Bytes block = whole;
      block[at] = static_cast<std::uint8_t>(value);
      const auto summary = read_exif(block);
      if (summary) {
        EXPECT_TRUE(summary->orientation >= 1 && summary->orientation <= 8);
      }
      EXPECT_LE(rewrite_exif(block, {1, 1, true, true}).size(), block.size());
      const ByteSpan cut = ByteSpan(block).first(at);
      EXPECT_LE(rewrite_exif(cut, {1, 1, true, true}).size(), cut.size());
    }
  }
}

/// APP2 payloads of a profile split into parts of 10 bytes.
std::vector<Bytes> icc_parts(const Bytes& profile) {
  std::vector<Bytes> parts;
  const std::size_t count = (profile.size() + 9) / 10;
  for (std::size_t i = 0; i < count; ++i) {
    Bytes payload;
    append_text(payload, kIccId);
    payload.push_back(static_cast<std::uint8_t>(i + 1));
    payload.push_back(static_cast<std::uint8_t>(count));
    append_bytes(payload, ByteSpan(profile).subspan(
                              i * 10, std::min<std::size_t>(10, profile.size() - i * 10)));
    parts.push_back(payload);
  }
  return parts;
}

Result<JpegFile> parse_with_app2(Bytes& storage, const std::vector<Bytes>& payloads) {
  std::vector<std::pair<std::uint8_t, Bytes>> segments;
  for (const auto& payload : payloads) segments.emplace_back(marker::kApp2, payload);
  storage = tiny::baseline(segments);
  return parse(storage, {});
}

TEST(JpegIcc, SegmentsJoinInAnyOrder) {
  Bytes profile(35);
  for (std::size_t i = 0; i < profile.size(); ++i) profile[i] = static_cast<std::uint8_t>(i);
  auto parts = icc_parts(profile);
  std::sort(parts.begin(), parts.end());
  do {
    Bytes bytes;
    const auto file = parse_with_app2(bytes, parts);
    ASSERT_TRUE(file);
    ASSERT_EQ(file->icc, profile);
    ASSERT_TRUE(file->warnings.empty());
  } while (std::next_permutation(parts.begin(), parts.end()));
}

TEST(JpegIcc, GapsAndContradictionsAreWarned) {
  const Bytes profile(35, 7);
  const auto parts = icc_parts(profile);
  Bytes bytes;
  const auto gap = parse_with_app2(bytes, {parts[0], parts[1], parts[3]});
  ASSERT_TRUE(gap);
  EXPECT_TRUE(gap->icc.empty());
  EXPECT_EQ(gap->warnings.at(0).kind, WarningKind::kIccIgnored);
  auto contradiction = parts;
  contradiction[2][kIccId.size() + 1] = 9;
  const auto wrong = parse_with_app2(bytes, contradiction);
  EXPECT_TRUE(wrong->icc.empty());
  EXPECT_EQ(wrong->warnings.at(0).kind, WarningKind::kIccIgnored);
  auto twice = parts;
  twice.push_back(parts[1]);
  const auto duplicate = parse_with_app2(bytes, twice);
  EXPECT_EQ(duplicate->icc, profile);
  EXPECT_EQ(duplicate->warnings.at(0).kind, WarningKind::kBadSegment);
  Bytes no_number;
  append_text(no_number, kIccId);
  EXPECT_EQ(parse_with_app2(bytes, {no_number})->warnings.at(0).kind, WarningKind::kIccIgnored);
}

TEST(JpegIcc, LargeProfilesSplitAndJoin) {
  Bytes profile(200'000);
  for (std::size_t i = 0; i < profile.size(); ++i) profile[i] = static_cast<std::uint8_t>(i * 31);
  Bytes out = tiny::head();
  ASSERT_TRUE(write_icc(out, profile));
  const Bytes rest = tiny::baseline();
  out.insert(out.end(), rest.begin() + 2, rest.end());
  const auto file = parse(out, {});
  ASSERT_TRUE(file);
  EXPECT_EQ(file->icc, profile);
  Bytes huge(255 * 65519 + 1);
  Bytes nothing;
  EXPECT_FALSE(write_icc(nothing, huge));
  EXPECT_TRUE(nothing.empty());
  huge.pop_back();
  EXPECT_TRUE(write_icc(nothing, huge));
}

Bytes dataset(std::uint8_t record, std::uint8_t number, std::string_view text) {
  Bytes out = {0x1C, record, number};
  append_u16(out, static_cast<std::uint32_t>(text.size()));
  append_text(out, text);
  return out;
}

void append_irb(Bytes& out, std::uint32_t number, const Bytes& data, std::string_view name = "") {
  append_text(out, "8BIM");
  append_u16(out, number);
  out.push_back(static_cast<std::uint8_t>(name.size()));
  append_text(out, name);
  if (name.size() % 2 == 0) out.push_back(0);
  append_u32(out, static_cast<std::uint32_t>(data.size()));
  append_bytes(out, data);
  if (data.size() % 2 != 0) out.push_back(0);
}

Bytes resources() {
  Bytes iim = dataset(1, 90, "\x1B%G");
  for (const auto& part : {dataset(2, 5, "Title"), dataset(2, 80, "Ann"), dataset(2, 25, "word"),
                           dataset(2, 116, "(c) Ann")}) {
    append_bytes(iim, part);
  }
  Bytes out;
  append_irb(out, 1005, Bytes(16, 1), "name");
  append_irb(out, 1036, Bytes(33, 0xEE));
  append_irb(out, 1039, Bytes(10, 0xDD));
  append_irb(out, 0x0404, iim, "odd");
  append_irb(out, 0x0425, Bytes(16, 0xCC));
  return out;
}

/// The resources as they come out of segments that hold `parts`.
ImageResources from_segments(const std::vector<ByteSpan>& parts) {
  ImageResources joined;
  for (const auto part : parts) {
    Bytes payload;
    append_text(payload, kPhotoshopId);
    append_bytes(payload, part);
    joined.add_segment(payload);
  }
  return joined;
}

TEST(JpegIptc, CopyrightKeepsWhoAndWhose) {
  const Bytes kept = from_segments({resources()}).copyright();
  const std::string_view text = as_text(kept);
  EXPECT_NE(text.find("(c) Ann"), std::string_view::npos);
  EXPECT_NE(text.find("\x1B%G"), std::string_view::npos);
  EXPECT_EQ(text.find("Title"), std::string_view::npos);
  EXPECT_EQ(text.find("word"), std::string_view::npos);
  EXPECT_EQ(from_segments({kept}).copyright(), kept) << "what is kept can be read again";
  ImageResources none;
  none.add_segment(Bytes{1, 2, 3});
  EXPECT_TRUE(none.copyright().empty());
}

TEST(JpegIptc, KeepingDropsThePicturesOnly) {
  const Bytes whole = resources();
  const Bytes kept = from_segments({whole}).without_pictures(false);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), 0xEE), 0);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), 0xDD), 0) << "a profile that no longer holds";
  EXPECT_EQ(std::count(kept.begin(), kept.end(), 0xCC), 16) << "the caption is as it was";
  EXPECT_NE(as_text(kept).find("Title"), std::string_view::npos);
  EXPECT_NE(as_text(kept).find("name"), std::string_view::npos);
  EXPECT_EQ(kept.size() + 46 + 22, whole.size());
  EXPECT_EQ(from_segments({whole}).without_pictures(true).size() + 46, whole.size());
}

TEST(JpegIptc, APreviewInsideACaptionIsDroppedWithTheDigest) {
  Bytes iim = dataset(2, 5, "Title");
  append_bytes(iim, dataset(2, 202, std::string(50, '\xEE')));
  append_bytes(iim, dataset(8, 10, std::string(50, '\xEE')));
  Bytes all;
  append_irb(all, 0x0425, Bytes(16, 0xCC));
  append_irb(all, 0x0404, iim);
  const Bytes kept = from_segments({all}).without_pictures(true);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), 0xEE), 0);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), 0xCC), 0);
  EXPECT_NE(as_text(kept).find("Title"), std::string_view::npos);
}

TEST(JpegIptc, ABlockMayBeginInOneSegmentAndEndInTheNext) {
  const Bytes whole = resources();
  const Bytes copyright = from_segments({whole}).copyright();
  const Bytes kept = from_segments({whole}).without_pictures(true);
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    const std::vector<ByteSpan> parts = {ByteSpan(whole).first(cut), ByteSpan(whole).subspan(cut)};
    ASSERT_EQ(from_segments(parts).copyright(), copyright) << cut;
    ASSERT_EQ(from_segments(parts).without_pictures(true), kept) << cut;
  }
}

TEST(JpegIptc, ADamagedSegmentDoesNotHideTheNext) {
  Bytes damaged = resources();
  damaged.resize(40);
  damaged[20] = 'x';
  EXPECT_EQ(from_segments({damaged, resources()}).copyright(),
            from_segments({resources()}).copyright());
}

TEST(JpegIptc, LongResourcesAreWrittenAsSeveralSegments) {
  Bytes all;
  append_irb(all, 1005, Bytes(150'000, 7));
  append_bytes(all, resources());
  Bytes out = tiny::head();
  write_image_resources(out, all);
  const Bytes rest = tiny::baseline();
  out.insert(out.end(), rest.begin() + 2, rest.end());
  const auto file = parse(out, {});
  ASSERT_TRUE(file);
  ImageResources read;
  for (const auto& segment : file->segments) read.add_segment(segment.payload);
  EXPECT_EQ(read.copyright(), from_segments({resources()}).copyright());
}

TEST(JpegIptc, TruncationIsSurvived) {
  const Bytes whole = resources();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const ByteSpan cut = ByteSpan(whole).first(size);
    EXPECT_LE(from_segments({cut}).without_pictures(true).size(), size);
    EXPECT_LE(from_segments({cut}).copyright().size(), size);
  }
}

}  // namespace
}  // namespace framewire::jpeg
