// The head of an output, and files with gain maps: made here, parsed again, judged by libjpeg.
#include <gtest/gtest.h>
#include <jpeg/exif.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/head.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/xmp.hpp>
#include <tests/support/gain_map.hpp>
#include <tests/support/tiny_jpeg.hpp>
#include <tests/unit/jpeg/libjpeg.hpp>

namespace framewire::jpeg {
namespace {

using Segments = std::vector<std::pair<std::uint8_t, Bytes>>;

Bytes payload(std::string_view id, ByteSpan data) {
  Bytes out;
  append_text(out, id);
  append_bytes(out, data);
  return out;
}

Bytes xmp_payload(std::string_view packet) { return payload(kXmpId, as_bytes(packet)); }

/// Everything after the head of a tiny file: DQT to EOI.
Bytes tiny_body() {
  const Bytes whole = tiny::baseline(Segments{});
  return Bytes(whole.begin() + 2, whole.end());
}

Bytes with_body(Bytes head) {
  append_bytes(head, tiny_body());
  return head;
}

constexpr std::string_view kGainMapXmp =
    "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF "
    "xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description rdf:about=\"\" "
    "xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\" hdrgm:Version=\"1.0\" "
    "hdrgm:GainMapMax=\"2.2\"/></rdf:RDF></x:xmpmeta>";

Bytes gain_map_stream() {
  return tiny::baseline(
      {{marker::kApp0, tiny::jfif_payload()}, {marker::kApp1, xmp_payload(kGainMapXmp)}});
}

/// An Ultra HDR file as cameras write it: XMP with a directory, MPF, gain map appended.
Bytes ultra_hdr(bool with_mpf = true, std::string_view extra_attributes = "") {
  const Bytes gain_map = gain_map_stream();
  std::string xmp = make_gain_map_xmp(gain_map.size());
  const std::string_view anchor = "hdrgm:Version";
  xmp.insert(xmp.find(anchor), extra_attributes);
  Bytes out = tiny::head({{marker::kApp1, xmp_payload(xmp)}});
  if (with_mpf) write_segment(out, marker::kApp2, make_mpf(out.size() + 4, 0, 0));
  append_bytes(out, tiny_body());
  if (with_mpf) {
    EXPECT_TRUE(test::append_gain_map(out, gain_map));
  } else {
    append_bytes(out, gain_map);
  }
  return out;
}

TEST(JpegGainMap, IsFoundByMpf) {
  const Bytes bytes = ultra_hdr();
  for (const auto depth : {ParseDepth::kWhole, ParseDepth::kThroughFirst}) {
    const auto file = parse(bytes, {}, depth);
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->warnings.empty());
    ASSERT_EQ(file->mpf.size(), 2u);
    ASSERT_TRUE(file->gain_map);
    const ByteSpan found = gain_map_bytes(*file);
    EXPECT_TRUE(std::ranges::equal(found, gain_map_stream()));
    const auto gain_map = parse(found, {});
    ASSERT_TRUE(gain_map);
    EXPECT_TRUE(xmp_declares_gain_map(gain_map->xmp));
  }
}

TEST(JpegGainMap, IsFoundByItsContainerWhereMpfIsMissing) {
  const Bytes bytes = ultra_hdr(false);
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->gain_map);
  EXPECT_TRUE(std::ranges::equal(gain_map_bytes(*file), gain_map_stream()));
}

TEST(JpegGainMap, ThatIsCutOffIsWarnedOf) {
  Bytes bytes = ultra_hdr();
  bytes.resize(bytes.size() - gain_map_stream().size());
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->gain_map);
  EXPECT_EQ(file->warnings.back().kind, WarningKind::kGainMapDropped);
}

TEST(JpegGainMap, PlainMultiPictureFilesHaveNone) {
  Bytes out = tiny::head();
  write_segment(out, marker::kApp2, make_mpf(out.size() + 4, 0, 0));
  append_bytes(out, tiny_body());
  ASSERT_TRUE(test::append_gain_map(out, tiny::baseline()));
  const auto file = parse(out, {});
  ASSERT_TRUE(file);
  EXPECT_EQ(file->mpf.size(), 2u);
  EXPECT_FALSE(file->gain_map);
  EXPECT_TRUE(file->warnings.empty());
}

TEST(JpegMpf, BothByteOrdersAndDamage) {
  const Bytes file_bytes = ultra_hdr();
  const auto file = parse(file_bytes, {});
  const auto segment =
      std::find_if(file->segments.begin(), file->segments.end(),
                   [](const Segment& s) { return starts_with(s.payload, kMpfId); });
  ASSERT_NE(segment, file->segments.end());
  const auto offset = static_cast<std::size_t>(segment->payload.data() - file_bytes.data());
  const Bytes big(segment->payload.begin(), segment->payload.end());
  Bytes little = big;
  // The same index with every field's bytes turned round.
  const auto turn = [&](std::size_t at, std::size_t bytes) {
    std::reverse(little.begin() + static_cast<std::ptrdiff_t>(4 + at),
                 little.begin() + static_cast<std::ptrdiff_t>(4 + at + bytes));
  };
  little[4] = little[5] = 'I';
  turn(2, 2);
  turn(4, 4);
  turn(8, 2);
  for (std::size_t entry = 10; entry < 46; entry += 12) {
    turn(entry, 2);
    turn(entry + 2, 2);
    turn(entry + 4, 4);
    if (entry != 10) turn(entry + 8, 4);
  }
  for (std::size_t at = 50; at < 82; at += 4) turn(at, 4);
  const auto expected = read_mpf(big, offset, file_bytes).images;
  const auto turned = read_mpf(little, offset, file_bytes).images;
  ASSERT_EQ(expected.size(), 2u);
  ASSERT_EQ(turned.size(), 2u);
  EXPECT_EQ(turned[1].offset, expected[1].offset);
  EXPECT_EQ(turned[1].bytes, expected[1].bytes);
  for (std::size_t at = 0; at < big.size(); ++at) {
    for (const int value : {0, 0x7F, 0xFF}) {
      Bytes damaged = big;
      damaged[at] = static_cast<std::uint8_t>(value);
      for (const auto& image : read_mpf(damaged, offset, file_bytes).images) {
        EXPECT_LE(image.offset + image.bytes, file_bytes.size());
      }
      EXPECT_TRUE(read_mpf(ByteSpan(big).first(at), offset, file_bytes).images.size() <= 2);
    }
  }
}

/// A photograph with everything that may be kept.
Bytes rich_file() {
  const Bytes exif = make_exif({6, "Ann", "(c) Ann"});
  return tiny::baseline(
      {{marker::kApp0, tiny::jfif_payload()},
       {marker::kApp1, payload(kExifId, exif)},
       {marker::kApp1, xmp_payload("<r xmlns:tiff=\"http://ns.adobe.com/tiff/1.0/\" "
                                   "tiff:Orientation=\"6\"/>")},
       {0xE5, {1, 2, 3}},
       {marker::kCom, {'h', 'i'}}});
}

TEST(JpegHead, StripLeavesWhatShowsThePicture) {
  const Bytes source = rich_file();
  const auto file = parse(source, {});
  const Bytes icc(5000, 3);
  const auto head = make_head(*file, Metadata::kStrip,
                              {.width_px = 16,
                               .height_px = 32,
                               .orientation_applied = true,
                               .transposed = true,
                               .icc = icc});
  ASSERT_TRUE(head);
  const Bytes bytes = with_body(*head);
  const auto output = parse(bytes, {});
  ASSERT_TRUE(output);
  EXPECT_EQ(output->segments.size(), 2u);
  EXPECT_EQ(output->icc, icc);
  EXPECT_EQ(output->orientation, 1);
  ASSERT_TRUE(output->jfif);
  EXPECT_EQ(output->jfif->x_density, 96) << "densities change places with the axes";
  EXPECT_EQ(output->jfif->y_density, 72);
  judge::Verdict verdict;
  judge::judge(bytes, true, verdict);
  EXPECT_TRUE(verdict.decoded) << verdict.error;
  EXPECT_EQ(verdict.warnings, 0);
}

TEST(JpegHead, StripKeepsAnOrientationThatWasNotApplied) {
  const Bytes source = rich_file();
  const auto file = parse(source, {});
  const Bytes bytes =
      with_body(*make_head(*file, Metadata::kStrip, {.width_px = 32, .height_px = 16}));
  const auto output = parse(bytes, {});
  EXPECT_EQ(output->orientation, 6);
  EXPECT_EQ(read_exif(output->exif)->artist, "");
}

TEST(JpegHead, CopyrightKeepsOwnerAndMaker) {
  const Bytes source = rich_file();
  const auto file = parse(source, {});
  const Bytes bytes =
      with_body(*make_head(*file, Metadata::kCopyright, {.orientation_applied = true}));
  const auto output = parse(bytes, {});
  const auto exif = read_exif(output->exif);
  ASSERT_TRUE(exif);
  EXPECT_EQ(exif->artist, "Ann");
  EXPECT_EQ(exif->copyright, "(c) Ann");
  EXPECT_EQ(exif->orientation, 1);
  EXPECT_TRUE(output->xmp.empty());
}

TEST(JpegHead, KeepCopiesAndCorrects) {
  const Bytes source = rich_file();
  const auto file = parse(source, {});
  const Bytes bytes = with_body(*make_head(*file, Metadata::kKeep, {.orientation_applied = true}));
  const auto output = parse(bytes, {});
  ASSERT_TRUE(output);
  EXPECT_EQ(output->orientation, 1);
  EXPECT_EQ(read_exif(output->exif)->artist, "Ann");
  EXPECT_NE(as_text(output->xmp).find("tiff:Orientation=\"1\""), std::string_view::npos);
  EXPECT_EQ(output->segments.back().marker, marker::kCom);
  EXPECT_EQ(output->segments.size(), 4u) << "APP5 describes bytes that are gone";
}

TEST(JpegHead, CmykIsMarkedAsAdobeDoes) {
  const Bytes source = rich_file();
  const auto file = parse(source, {});
  const auto head = make_head(*file, Metadata::kStrip, {.orientation_applied = true, .cmyk = true});
  Bytes bytes = *head;
  tiny::write_standard_tables(bytes);
  FrameSpec frame;
  frame.width_px = frame.height_px = 8;
  frame.component_count = 4;
  write_sof(bytes, frame);
  ScanSpec scan;
  scan.component_count = 4;
  scan.id = frame.id;
  write_sos(bytes, scan);
  write_eoi(bytes);
  const auto output = parse(bytes, {});
  ASSERT_TRUE(output) << output.error().to_string();
  EXPECT_EQ(output->color_model, ColorModel::kCmyk);
  EXPECT_EQ(output->adobe_transform, std::uint8_t{0});
  EXPECT_FALSE(output->jfif);
}

/// What the engine does with a file that has a gain map, at unchanged pixels.
Bytes rewrite(const Bytes& source, Metadata metadata, bool keep_gain_map) {
  const auto file = parse(source, {});
  EXPECT_TRUE(file && file->gain_map);
  const auto gain_map = parse(gain_map_bytes(*file), {});
  EXPECT_TRUE(gain_map);
  const Bytes appended = with_body(*make_gain_map_head(*gain_map));
  HeadFacts facts{.orientation_applied = true};
  facts.gain_map_bytes = keep_gain_map ? appended.size() : 0;
  Bytes stream = with_body(*make_head(*file, metadata, facts));
  if (keep_gain_map) {
    EXPECT_TRUE(test::append_gain_map(stream, appended));
  }
  return stream;
}

TEST(JpegHead, GainMapsSurviveWithTheirDescription) {
  for (const auto metadata : {Metadata::kStrip, Metadata::kCopyright, Metadata::kKeep}) {
    const Bytes bytes =
        rewrite(ultra_hdr(true, "xmlns:a=\"urn:a\" a:Kept=\"yes\" "), metadata, true);
    const auto output = parse(bytes, {});
    ASSERT_TRUE(output);
    EXPECT_TRUE(output->warnings.empty());
    ASSERT_TRUE(output->gain_map);
    EXPECT_EQ(gain_map_bytes(*output).data() + gain_map_bytes(*output).size(),
              bytes.data() + bytes.size());
    EXPECT_EQ(output->mpf[0].bytes, output->mpf[1].offset);
    EXPECT_EQ(output->end_offset, output->mpf[1].offset);
    EXPECT_EQ(find_gain_map_item(as_text(output->xmp))->bytes, output->mpf[1].bytes);
    EXPECT_EQ(as_text(output->xmp).find("a:Kept") != std::string_view::npos,
              metadata == Metadata::kKeep);
    const auto gain_map = parse(gain_map_bytes(*output), {});
    ASSERT_TRUE(gain_map);
    EXPECT_NE(as_text(gain_map->xmp).find("GainMapMax"), std::string_view::npos);
  }
}

TEST(JpegHead, ADroppedGainMapLeavesNoTrace) {
  for (const auto metadata : {Metadata::kStrip, Metadata::kKeep}) {
    const Bytes bytes =
        rewrite(ultra_hdr(true, "xmlns:a=\"urn:a\" a:Kept=\"yes\" "), metadata, false);
    const auto output = parse(bytes, {});
    ASSERT_TRUE(output);
    EXPECT_FALSE(output->gain_map);
    EXPECT_TRUE(output->mpf.empty());
    EXPECT_TRUE(output->warnings.empty());
    EXPECT_FALSE(xmp_declares_gain_map(output->xmp));
  }
}

TEST(JpegHead, IsoGainMapsNeedNoXmp) {
  const Bytes iso = payload(kIsoGainMapId, Bytes{0, 0, 0, 0});
  const Bytes gain_map = tiny::baseline({{marker::kApp2, iso}});
  Bytes source = tiny::head({{marker::kApp2, iso}});
  write_segment(source, marker::kApp2, make_mpf(source.size() + 4, 0, 0));
  append_bytes(source, tiny_body());
  ASSERT_TRUE(test::append_gain_map(source, gain_map));
  const Bytes bytes = rewrite(source, Metadata::kStrip, true);
  const auto output = parse(bytes, {});
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->gain_map);
  EXPECT_TRUE(output->xmp.empty());
}

TEST(JpegHead, AppendingNeedsRoomForTheIndex) {
  Bytes stream = tiny::baseline();
  EXPECT_EQ(test::append_gain_map(stream, gain_map_stream()).error().code(), StatusCode::kInternal);
  EXPECT_EQ(stream, tiny::baseline());
}

}  // namespace
}  // namespace framewire::jpeg
