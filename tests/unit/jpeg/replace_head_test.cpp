// Coded pictures behind another head: the same samples in the same colours, and nothing else.
#include <gtest/gtest.h>
#include <jpeg/exif.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/replace_head.hpp>
#include <jpeg/xmp.hpp>
#include <tests/support/gain_map.hpp>
#include <tests/support/sample_jpeg.hpp>
#include <tests/support/tiny_jpeg.hpp>
#include <tests/unit/jpeg/libjpeg.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::string_view kUntold = "UNTOLD";

double gradient(int component, double x, double y) { return 40 + 30 * component + x + y; }

Bytes untold() { return Bytes(kUntold.begin(), kUntold.end()); }

bool tells(const Bytes& bytes) { return as_text(bytes).find(kUntold) != std::string::npos; }

judge::Verdict decoded(ByteSpan bytes) {
  judge::Verdict verdict;
  judge::judge(bytes, true, verdict);
  return verdict;
}

Result<Bytes> rewritten(const Bytes& bytes, Metadata metadata = Metadata::kStrip,
                        GainMap gain_map = GainMap::kKeep) {
  const auto file = parse(bytes, {});
  if (!file) return fail(file.error());
  return replace_head(*file, metadata, gain_map, {}, {});
}

TEST(ReplaceHead, EveryProcessAndColourKeepsItsSamples) {
  std::vector<sample::Spec> specs(10);
  specs[1].space = JCS_GRAYSCALE;
  specs[2].space = JCS_RGB;
  specs[3].space = JCS_CMYK;
  specs[4].space = JCS_YCCK;
  specs[5].space = JCS_CMYK;
  specs[5].adobe = false;
  specs[6].progressive = true;
  specs[6].h = specs[6].v = 2;
  specs[7].separate_scans = true;
  specs[7].restart_mcus = 2;
  specs[8].arithmetic = true;
  specs[9].progressive = true;
  specs[9].space = JCS_YCCK;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Bytes source =
        sample::with_segments(sample::make(specs[i], gradient), {{marker::kCom, untold()}});
    append_bytes(source, untold());
    const auto copy = rewritten(source);
    ASSERT_TRUE(copy) << i << copy.error().to_string();
    EXPECT_FALSE(tells(*copy)) << i;
    const auto before = decoded(source);
    const auto after = decoded(*copy);
    ASSERT_TRUE(after.decoded) << i << after.error;
    EXPECT_EQ(after.warnings, 0) << i;
    EXPECT_EQ(after.color, before.color) << i;
    EXPECT_EQ(after.samples, before.samples) << i;
    EXPECT_EQ(parse(*copy, {})->adobe_transform.has_value(),
              specs[i].space == JCS_RGB ||
                  (parse(source, {})->frame.component_count == 4 && specs[i].adobe))
        << i << ": inks with Adobe's marker are inverted, others are not";
  }
}

TEST(ReplaceHead, BytesBetweenSegmentsAndApplicationSegmentsBetweenScansGo) {
  Bytes source = tiny::progressive();
  Bytes hidden;
  append_bytes(hidden, untold());
  write_segment(hidden, marker::kApp1, untold());
  write_segment(hidden, marker::kCom, untold());
  for (const std::uint8_t code : {marker::kSos, marker::kSof2, marker::kDqt}) {
    const std::size_t at = tiny::find_marker(source, code, code == marker::kSos ? 1 : 0);
    // A scan's data would go on: only whole segments stand behind it.
    const std::size_t left_out = code == marker::kSos ? kUntold.size() : 0;
    source.insert(source.begin() + static_cast<std::ptrdiff_t>(at),
                  hidden.begin() + static_cast<std::ptrdiff_t>(left_out), hidden.end());
  }
  for (const Metadata metadata : {Metadata::kStrip, Metadata::kCopyright}) {
    const auto copy = rewritten(source, metadata);
    ASSERT_TRUE(copy) << copy.error().to_string();
    EXPECT_FALSE(tells(*copy));
    EXPECT_EQ(decoded(*copy).samples, decoded(tiny::progressive()).samples);
  }
}

TEST(ReplaceHead, OrientationStays) {
  ExifSummary summary;
  summary.orientation = 6;
  summary.artist = "Ann";
  Bytes payload;
  append_text(payload, kExifId);
  append_bytes(payload, make_exif(summary));
  const Bytes source = tiny::baseline({{marker::kApp1, payload}});
  for (const auto& [metadata, artist] :
       {std::pair{Metadata::kStrip, ""}, {Metadata::kCopyright, "Ann"}, {Metadata::kKeep, "Ann"}}) {
    const auto copy = rewritten(source, metadata);
    ASSERT_TRUE(copy);
    const auto file = parse(*copy, {});
    EXPECT_EQ(file->orientation, 6);
    EXPECT_EQ(read_exif(file->exif)->artist, artist);
  }
}

TEST(ReplaceHead, GainMapsAreCopiedAndTellNothingEither) {
  constexpr std::string_view kMapXmp =
      "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF "
      "xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description rdf:about=\"\" "
      "xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\" hdrgm:Version=\"1.0\" "
      "hdrgm:GainMapMax=\"2.2\"/></rdf:RDF></x:xmpmeta>";
  const auto xmp_payload = [](std::string_view packet) {
    Bytes out;
    append_text(out, kXmpId);
    append_text(out, packet);
    return out;
  };
  const Bytes map =
      tiny::baseline({{marker::kApp1, xmp_payload(kMapXmp)}, {marker::kCom, untold()}});
  Bytes source = tiny::head({{marker::kApp1, xmp_payload(make_gain_map_xmp(map.size()))}});
  write_segment(source, marker::kApp2, make_mpf(source.size() + 4, 0, 0));
  const Bytes body = tiny::baseline({});
  source.insert(source.end(), body.begin() + 2, body.end());
  ASSERT_TRUE(test::append_gain_map(source, map));
  append_bytes(source, untold());
  for (const Metadata metadata : {Metadata::kStrip, Metadata::kKeep}) {
    const auto copy = rewritten(source, metadata);
    ASSERT_TRUE(copy) << copy.error().to_string();
    EXPECT_FALSE(tells(*copy));
    const auto file = parse(*copy, {});
    ASSERT_TRUE(file->gain_map);
    EXPECT_TRUE(file->warnings.empty());
    const ByteSpan found = gain_map_bytes(*file);
    EXPECT_EQ(decoded(found).samples, decoded(map).samples);
    EXPECT_TRUE(xmp_declares_gain_map(parse(found, {})->xmp));
  }
  const auto without = rewritten(source, Metadata::kStrip, GainMap::kDrop);
  ASSERT_TRUE(without);
  EXPECT_FALSE(parse(*without, {})->gain_map);
}

TEST(ReplaceHead, CutAnywhereItCopiesWhatIsThereOrRefuses) {
  const Bytes source = tiny::progressive();
  for (std::size_t length = 0; length < source.size(); ++length) {
    const auto copy = rewritten(Bytes(source.begin(), source.begin() + static_cast<long>(length)));
    const bool has_scan = length > tiny::find_marker(source, marker::kSos) + 13;
    EXPECT_TRUE(copy || !has_scan) << length;
    EXPECT_TRUE(!copy || decoded(*copy).decoded) << length;
  }
}

TEST(ReplaceHeadAttack, MoreSegmentsThanAreListedAreRefused) {
  Bytes many = tiny::head();
  for (std::size_t i = 0; i < kMaxListed; ++i) write_segment(many, marker::kCom, {});
  const Bytes body = tiny::baseline({});
  many.insert(many.end(), body.begin() + 2, body.end());
  const auto copy = rewritten(many);
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code(), StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace framewire::jpeg
