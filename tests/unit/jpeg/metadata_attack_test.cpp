// Metadata made to cost as much time as possible, at the size limit: reading and rewriting it is
// linear, so a few milliseconds do.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <ctime>
#include <jpeg/exif.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/head.hpp>
#include <jpeg/iptc.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/xmp.hpp>
#include <tests/support/camera_exif.hpp>
#include <tests/support/slower.hpp>

namespace framewire::jpeg {
namespace {

using test::kSlower;
using ::testing::HasSubstr;

constexpr std::size_t kMaxPacketBytes = 65'533 - kXmpId.size();

/// Parses a file and makes its head in every mode; milliseconds of processor time.
double cost_ms(const Bytes& bytes) {
  const auto start = std::clock();
  const auto file = parse(bytes, {});
  EXPECT_TRUE(file);
  for (const auto metadata : {Metadata::kStrip, Metadata::kCopyright, Metadata::kKeep}) {
    HeadFacts facts;
    facts.width_px = facts.height_px = 100;
    facts.orientation_applied = true;
    facts.gain_map_bytes = file && file->gain_map ? 1000 : 0;
    EXPECT_TRUE(file && make_head(*file, metadata, facts));
  }
  if (file) static_cast<void>(list_losses(*file));
  return 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

Bytes segment_of(std::string_view id, std::string_view content) {
  Bytes payload;
  append_text(payload, id);
  append_text(payload, content);
  return payload;
}

constexpr std::string_view kOpen =
    "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\" xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\" "
    "xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" "
    "xmlns:c=\"http://ns.google.com/photos/1.0/container/\" "
    "xmlns:i=\"http://ns.google.com/photos/1.0/container/item/\" "
    "xmlns:g=\"http://ns.google.com/photos/1.0/camera/\" hdrgm:Version=\"1\"><rdf:RDF>"
    "<rdf:Description>";
constexpr std::string_view kClose = "</rdf:Description></rdf:RDF></x:xmpmeta>";

std::string filled(std::string_view open, std::string_view part, std::string_view close,
                   std::size_t bytes = kMaxPacketBytes) {
  std::string out(open);
  while (out.size() + part.size() + close.size() <= bytes) out += part;
  return out.append(close);
}

/// Packets of the largest size, each the worst for some way of searching.
std::vector<std::string> packets() {
  constexpr std::string_view kBindings = "http://ns.adobe.com/hdr-gain-map/1.0/ ";
  std::vector<std::string> out = {
      filled("", "http://ns.adobe.com/hdr-gain-map/1.0/xmlns:", ""),
      filled("<a xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\" ", "hdrgm:Version ", "/>"),
      filled("", kBindings, ""),
      filled(kOpen, "<hdrgm:a/>", kClose),
      filled(kOpen, "<g:MicroVideo/>", kClose),
      filled(kOpen, "<a>", kClose),
      filled(std::string(kOpen) + "<c:Directory><rdf:Seq>", "<rdf:li i:Length='9'/>",
             "</rdf:Seq></c:Directory>" + std::string(kClose)),
      filled(std::string(kOpen) + "<c:Directory>", "<rdf:li>", std::string(kClose)),
      filled(std::string(kOpen) + "<a ", "g:MicroVideo='' b='' ", "/>" + std::string(kClose)),
      filled(kOpen, "&amp;", kClose),
      filled(kOpen, "/9j/", kClose),
      filled(kOpen, "/9j/ ", kClose),
      filled(kOpen, "\xFF\xD8\xFF\xDB\0\2", kClose),
      filled(kOpen, "<![CDATA[<]]>", kClose),
  };
  std::string prefixes(kOpen);
  for (int i = 0; prefixes.size() < kMaxPacketBytes - 100; ++i) {
    prefixes += fmt::format("<p{0}:a xmlns:p{0}='u{0}'/>", i);
  }
  out.push_back(prefixes.append(kClose));
  std::string deep(kOpen);
  for (int i = 0; i < 9000; ++i) deep += "<a>";
  for (int i = 0; i < 9000; ++i) deep += "</a>";
  out.push_back(deep.append(kClose));
  return out;
}

TEST(JpegXmpAttack, APacketCostsMillisecondsWhateverItSays) {
  int i = 0;
  for (const auto& packet : packets()) {
    const Bytes bytes = tiny::baseline({{marker::kApp1, segment_of(kXmpId, packet)}});
    EXPECT_LT(cost_ms(bytes), 100 * kSlower) << i;
    ++i;
  }
}

TEST(JpegXmpAttack, EntitiesDoNotExpand) {
  std::string bomb = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\">";
  for (char c = 'b'; c < 'z'; ++c) {
    bomb += fmt::format("<!ENTITY {0} \"&{1};&{1};&{1};&{1};&{1};&{1};&{1};&{1};&{1};&{1};\">", c,
                        static_cast<char>(c - 1));
  }
  bomb +=
      "]><x:xmpmeta xmlns:x=\"adobe:ns:meta/\" xmlns:tiff=\"http://ns.adobe.com/tiff/1.0/\" "
      "tiff:Orientation=\"6\" a=\"&y;\">&y;</x:xmpmeta>";
  XmpChanges changes;
  changes.upright = true;  // so that the packet is written anew
  const auto kept = rewrite_xmp(bomb, changes);
  ASSERT_TRUE(kept);
  EXPECT_THAT(*kept, HasSubstr("tiff:Orientation=\"1\""));
  EXPECT_LE(kept->size(), bomb.size());
}

/// Tens of APP1 segments, each a packet of the largest size, again in every image of an MPF index
/// whose images overlap: what took 17.8 s for 2.6 MB.
Bytes overlapping(std::size_t images) {
  const std::string packet = packets()[0];
  Bytes many = tiny::head();
  for (int i = 0; i < 40; ++i) {
    write_segment(many, marker::kApp1, segment_of(kXmpId, packet));
  }
  const Bytes rest = tiny::baseline();
  append_bytes(many, ByteSpan(rest).subspan(2));
  const std::string declares = make_gain_map_xmp(1000);
  Bytes out = tiny::head({{marker::kApp1, segment_of(kXmpId, declares)}});
  // The index, with entries whose images all reach to the end of the file.
  Bytes mpf = camera::text({"MPF\0MM", 6});
  camera::put(mpf, false, 42, 2);
  camera::put(mpf, false, 8, 4);
  Bytes entries;
  const std::size_t tiff_at = out.size() + 4 + 4;
  const std::size_t index_bytes = 8 + 2 + 12 + 4 + 16 * images;
  const std::size_t body_at = tiff_at + index_bytes;
  const Bytes body = [] {
    const Bytes whole = tiny::baseline();
    return Bytes(whole.begin() + 2, whole.end());
  }();
  const std::size_t second_at = body_at + body.size();
  for (std::size_t i = 0; i < images; ++i) {
    camera::put(entries, false, 0x030000, 4);
    camera::put(entries, false, static_cast<std::uint32_t>(i == 0 ? second_at : many.size()), 4);
    camera::put(entries, false, static_cast<std::uint32_t>(i == 0 ? 0 : second_at - tiff_at), 4);
    camera::put(entries, false, 0, 4);
  }
  camera::append_directory(mpf, false, 4, {{0xB002, TiffType::kUndefined, 1, 0, entries}});
  write_segment(out, marker::kApp2, mpf);
  EXPECT_EQ(out.size(), body_at);
  append_bytes(out, body);
  append_bytes(out, many);
  return out;
}

TEST(JpegMpfAttack, ImagesThatOverlapAreListedOnce) {
  for (const std::size_t images : {8u, 4000u}) {
    const Bytes bytes = overlapping(images);
    EXPECT_LT(cost_ms(bytes), 100 * kSlower);
    const auto file = parse(bytes, {});
    ASSERT_TRUE(file);
    EXPECT_EQ(file->mpf.size(), 2u);
    ASSERT_FALSE(file->warnings.empty());
    EXPECT_EQ(file->warnings.front().kind, WarningKind::kBadSegment);
  }
}

/// A block of the largest size whose entries all point at the same bytes.
TEST(JpegExifAttack, EntriesThatOverlapCostNoMore) {
  for (const std::uint32_t tag : {0x0111u, 0x014Au, 0x9999u, 0x927Cu}) {
    Bytes block = camera::text("II");
    camera::put(block, true, 42, 2);
    camera::put(block, true, 8, 4);
    const std::uint32_t entries = 5400;
    camera::put(block, true, entries, 2);
    for (std::uint32_t i = 0; i < entries; ++i) {
      camera::put(block, true, i == 0 ? 0x8769 : i == 1 ? 0x0117 : tag, 2);
      camera::put(block, true, i == 0 ? 4 : i < 3 ? 4 : 7, 2);
      camera::put(block, true, i == 0 ? 1 : i < 3 ? 16'000 : 65'000, 4);
      camera::put(block, true, i == 0 ? 8 : 100, 4);
    }
    camera::put(block, true, 8, 4);
    block.resize(65'527, 0xFF);
    Bytes payload;
    append_text(payload, kExifId);
    append_bytes(payload, block);
    EXPECT_LT(cost_ms(tiny::baseline({{marker::kApp1, payload}})), 100 * kSlower) << tag;
  }
}

TEST(JpegExifAttack, BeginningsOfPicturesCostNoMore) {
  for (const std::string_view part :
       {std::string_view("\xFF\xD8\xFF\xDB\0\2", 6), std::string_view("\xFF\xDB\0\4\0\xD8", 6),
        std::string_view("\xFF\xD8\xFF\xDA\0\2", 6), std::string_view("\xD8\xFF", 2),
        std::string_view("\xFF\xD8\xFF\xFF", 4)}) {
    Bytes block = camera::text("II");
    camera::put(block, true, 42, 2);
    camera::put(block, true, 8, 4);
    camera::append_directory(block, true, 0, {{0x0112, TiffType::kShort, 1, 6, {}}});
    append_text(block, filled("", part, "", 65'000));
    Bytes payload;
    append_text(payload, kExifId);
    append_bytes(payload, block);
    EXPECT_LT(cost_ms(tiny::baseline({{marker::kApp1, payload}})), 100 * kSlower);
  }
}

TEST(JpegIptcAttack, ManySegmentsAreJoinedOnce) {
  std::vector<std::pair<std::uint8_t, Bytes>> segments;
  const std::string resource("8BIM\4\4\0\0\0\0\0\0", 12);
  for (int i = 0; i < 300; ++i) {
    segments.emplace_back(marker::kApp13,
                          segment_of(kPhotoshopId, filled("", resource, "", 65'000)));
  }
  EXPECT_LT(cost_ms(tiny::baseline(segments)), 1000 * kSlower) << "20 MB";
}

/// Beginnings of streams whose first segments all end where one run of fill bytes begins.
std::string beginnings_before_fill(std::size_t beginnings_bytes, std::size_t bytes) {
  std::string out;
  while (out.size() + 5 < beginnings_bytes) {
    const std::size_t length = beginnings_bytes - out.size() - 3;
    if (length % 256 == 0xFF) {  // FF before the next D8 would make it a whole beginning
      out += '\0';
      continue;
    }
    out.append("\xD8\xFF\xE0", 3);
    out += static_cast<char>(length >> 8);
    out += static_cast<char>(length);
  }
  out.resize(beginnings_bytes, '\0');
  out.resize(bytes - 1, '\xFF');
  return out + '\0';
}

TEST(JpegIptcAttack, FillBehindManyBeginningsOfPicturesIsReadOnce) {
  const std::string text = beginnings_before_fill(64'000, 1u << 20);
  std::string dataset("\x1C\2\x50\x80\4", 5);  // byline, its length in four bytes
  for (const int shift : {24, 16, 8, 0}) dataset += static_cast<char>(text.size() >> shift);
  dataset += text;
  dataset.resize(dataset.size() + dataset.size() % 2, '\0');
  std::string resource("8BIM\4\4\0\0", 8);
  for (const int shift : {24, 16, 8, 0}) resource += static_cast<char>(dataset.size() >> shift);
  resource += dataset;
  std::vector<std::pair<std::uint8_t, Bytes>> segments;
  for (std::size_t at = 0; at < resource.size(); at += 65'000) {
    segments.emplace_back(marker::kApp13,
                          segment_of(kPhotoshopId, std::string_view(resource).substr(at, 65'000)));
  }
  EXPECT_LT(cost_ms(tiny::baseline(segments)), 1000 * kSlower) << "1 MB";
}

TEST(JpegCommentAttack, FillBehindManyBeginningsOfPicturesIsReadOnce) {
  const std::string text = beginnings_before_fill(32'000, 65'000);
  const std::vector<std::pair<std::uint8_t, Bytes>> segments(20,
                                                             {marker::kCom, segment_of("", text)});
  EXPECT_LT(cost_ms(tiny::baseline(segments)), 1000 * kSlower);
}

}  // namespace
}  // namespace framewire::jpeg
