// The table of docs/metadata.md: one file with every part, resized in every mode.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <jpeg/exif.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/iptc.hpp>
#include <jpeg/xmp.hpp>
#include <map>
#include <tests/support/camera_exif.hpp>
#include <tests/unit/engine/metadata_parts.hpp>
#include <tests/unit/engine/resized.hpp>

namespace framewire {
namespace {

using namespace test;
using jpeg::TiffType;
namespace camera = jpeg::camera;
namespace marker = jpeg::marker;

constexpr std::int32_t kWidth = 40;  // of outputs; the input is 200×160

/// A small picture with a word in it.
Bytes picture(std::string_view word) {
  return jpeg::tiny::baseline({{marker::kCom, camera::text(word)}});
}

Bytes exif() {
  const auto build = [](std::uint32_t exif_at, std::uint32_t thumbnail_at, std::uint32_t end) {
    Bytes out = camera::text({"MM\0*\0\0\0\x08", 8});
    camera::append_directory(
        out, false, 0,
        {{0x0112, TiffType::kShort, 1, 6, {}},
         {0x0131, TiffType::kAscii, 1, 0, camera::text({"exif other\0\0", 12})},
         {0x013B, TiffType::kAscii, 1, 0, camera::text({"exif artist\0", 12})},
         {0x8769, TiffType::kLong, 1, exif_at, {}}},
        thumbnail_at);
    const std::size_t exif_is_at = out.size();
    Bytes note = camera::text("maker note ");
    jpeg::append_bytes(note, picture("exif preview"));
    camera::append_directory(out, false, 0,
                             {{0x927C, TiffType::kUndefined, 1, 0, note},
                              {0xA001, TiffType::kShort, 1, 0xFFFF, {}},
                              {0xA002, TiffType::kLong, 1, 200, {}},
                              {0xA214, TiffType::kLong, 1, 7050, {}}});
    out.resize(out.size() + out.size() % 2);
    const std::size_t thumbnail_is_at = out.size();
    const Bytes thumbnail = picture("exif thumbnail");
    camera::append_directory(
        out, false, 0,
        {{0x0201, TiffType::kLong, 1, end, {}},
         {0x0202, TiffType::kLong, 1, static_cast<std::uint32_t>(thumbnail.size()), {}}});
    const std::size_t picture_is_at = out.size();
    jpeg::append_bytes(out, thumbnail);
    return std::tuple(out, static_cast<std::uint32_t>(exif_is_at),
                      static_cast<std::uint32_t>(thumbnail_is_at),
                      static_cast<std::uint32_t>(picture_is_at));
  };
  const auto [unused, exif_at, thumbnail_at, picture_at] = build(0, 0, 0);
  return std::get<0>(build(exif_at, thumbnail_at, picture_at));
}

std::string item(std::string_view semantic, std::size_t bytes) {
  return "<rdf:li rdf:parseType=\"Resource\"><c:Item i:Semantic=\"" + std::string(semantic) +
         "\" i:Mime=\"x/y\" i:Length=\"" + std::to_string(bytes) + "\"/></rdf:li>";
}

std::string xmp(std::size_t gain_map_bytes, std::size_t depth_bytes, std::size_t video_bytes) {
  return "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF xmlns:rdf=\"" +
         std::string(jpeg::kRdfNamespace) +
         "\"><rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\""
         " xmlns:xmp=\"http://ns.adobe.com/xap/1.0/\" xmlns:tiff=\"http://ns.adobe.com/tiff/1.0/\""
         " xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\""
         " xmlns:g=\"http://ns.google.com/photos/1.0/camera/\""
         " xmlns:c=\"http://ns.google.com/photos/1.0/container/\""
         " xmlns:i=\"http://ns.google.com/photos/1.0/container/item/\""
         " hdrgm:Version=\"1.0\" g:MotionPhoto=\"1\" tiff:ImageWidth=\"200\""
         " dc:rights=\"xmp rights\" dc:source=\"xmp other\" r:Regions=\"xmp region\""
         " xmlns:r=\"http://www.metadataworkinggroup.com/schemas/regions/\">"
         "<xmp:Thumbnails>xmp thumbnail</xmp:Thumbnails><c:Directory><rdf:Seq>" +
         item("Primary", 0) + item("GainMap", gain_map_bytes) + item("Depth", depth_bytes) +
         item("MotionPhoto", video_bytes) +
         "</rdf:Seq></c:Directory></rdf:Description></rdf:RDF></x:xmpmeta>";
}

Bytes resources() {
  Bytes iim = {0x1C, 2, 80, 0, 11};
  jpeg::append_text(iim, "iptc byline");
  jpeg::append_bytes(iim, Bytes{0x1C, 2, 5, 0, 10});
  jpeg::append_text(iim, "iptc other");
  Bytes out;
  jpeg::append_text(out, jpeg::kPhotoshopId);
  for (const auto& [number, data] :
       {std::pair{0x0404, iim}, std::pair{1036, picture("irb thumbnail")}}) {
    jpeg::append_text(out, "8BIM");
    jpeg::append_u16(out, static_cast<std::uint32_t>(number));
    jpeg::append_u16(out, 0);
    jpeg::append_u32(out, static_cast<std::uint32_t>(data.size()));
    jpeg::append_bytes(out, data);
    if (data.size() % 2 != 0) out.push_back(0);
  }
  return out;
}

Bytes everything() {
  const auto ramp = [](int, double x, double y) { return 40 + x - y / 2; };
  const Bytes gain_map = sample::with_segments(
      sample::make({50, 40, JCS_GRAYSCALE, 1, 1, 95}, ramp),
      {{marker::kApp1,
        tagged(jpeg::kXmpId,
               "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
               "<rdf:Description xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\" "
               "hdrgm:Version=\"1.0\" hdrgm:GainMapMax=\"2.2\"/></rdf:RDF>")}});
  const Bytes depth = picture("depth map");
  const Bytes video = camera::text("a video behind");
  const Bytes primary = photo(200, 160);
  Bytes out = jpeg::tiny::head(
      {{marker::kApp0, {'J', 'F', 'I', 'F', 0, 1, 2, 1, 0, 123, 0, 123, 0, 0}},
       {marker::kApp0, tagged(std::string_view("JFXX\0\x10", 6), jpeg::as_text(picture("jfxx")))},
       {marker::kApp1, tagged(jpeg::kExifId, jpeg::as_text(exif()))},
       {marker::kApp1, tagged(jpeg::kXmpId, xmp(gain_map.size(), depth.size(), video.size()))},
       {marker::kApp1,
        tagged(std::string_view("http://ns.adobe.com/xmp/extension/\0", 35), "extended xmp")},
       {marker::kApp13, resources()},
       {marker::kApp2, tagged(std::string_view("FPXR\0", 5), "flashpix")},
       {0xE7, camera::text("another segment")},
       {marker::kCom, camera::text("a comment")}});
  EXPECT_TRUE(jpeg::write_icc(out, wide_profile()));
  constexpr int kOwnJfif = 2 + 18;  // SOI and the JFIF segment that libjpeg writes
  out.insert(out.end(), primary.begin() + kOwnJfif, primary.end());
  for (const Bytes& behind : {gain_map, depth, video}) jpeg::append_bytes(out, behind);
  return out;
}

std::uint32_t exif_number(const jpeg::JpegFile& file, std::uint16_t tag) {
  const auto view = jpeg::TiffView::open(file.exif);
  const auto main = view ? view->directory(view->first_directory_offset()) : std::nullopt;
  const auto* pointer = main ? main->find(0x8769) : nullptr;
  const auto exif = pointer ? view->directory(*view->number(*pointer)) : std::nullopt;
  const auto* entry = exif ? exif->find(tag) : nullptr;
  return entry ? view->number(*entry).value_or(0) : 0;
}

/// What an output has of a part: "yes", "no" or "corrected".
using Look = std::function<std::string(const jpeg::JpegFile&)>;

Look word(std::string text) {
  return [text](const jpeg::JpegFile& file) {
    return jpeg::as_text(file.bytes).find(text) == std::string_view::npos ? "no" : "yes";
  };
}

Look any_word(const std::vector<std::string>& texts) {
  return [texts](const jpeg::JpegFile& file) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& t) { return word(t)(file) == "yes"; })
               ? "yes"
               : "no";
  };
}

Look number(std::uint16_t tag, std::uint32_t was, std::uint32_t is) {
  return [=](const jpeg::JpegFile& file) {
    const auto found = exif_number(file, tag);
    return found == was ? "yes" : found == is ? "corrected" : "no";
  };
}

std::string yes_if(bool is) { return is ? "yes" : "no"; }

const std::map<std::string, Look>& looks() {
  static const std::map<std::string, Look> all = {
      {"JFIF: density", [](const auto& f) { return yes_if(f.jfif && f.jfif->x_density == 123); }},
      {"JFXX: thumbnail", word("jfxx")},
      {"EXIF: orientation that was not applied",
       [](const auto& f) { return yes_if(f.orientation == 6); }},
      {"EXIF: Artist, Copyright", word("exif artist")},
      {"EXIF: other tags", word("exif other")},
      {"EXIF: width and height", number(0xA002, 200, kWidth)},
      {"EXIF: colour space", number(0xA001, 0xFFFF, 1)},
      {"EXIF: subject's place, where the size changes", number(0xA214, 7050, 0xFFFF)},
      {"EXIF: maker note", word("maker note")},
      {"EXIF: thumbnails, and previews in maker notes",
       any_word({"exif preview", "exif thumbnail"})},
      {"XMP: rights", word("xmp rights")},
      {"XMP: other properties", word("xmp other")},
      {"XMP: faces and other regions, panorama, unless cropped, turned or padded",
       word("xmp region")},
      {"XMP: width and height",
       [](const auto& f) {
         return word("tiff:ImageWidth=\"40\"")(f) == "yes" ? std::string("corrected")
                                                           : word("tiff:ImageWidth")(f);
       }},
      {"XMP: thumbnails and other pictures", word("xmp thumbnail")},
      {"XMP: motion photographs and other appended items", any_word({"MotionPhoto", "Depth"})},
      {"Extended XMP", word("extended xmp")},
      {"IPTC: byline, credit, copyright notice", word("iptc byline")},
      {"IPTC and Photoshop: everything else", word("iptc other")},
      {"Photoshop: thumbnails", word("irb thumbnail")},
      {"Comments", word("a comment")},
      {"ICC profile, with `--color keep`",
       [](const auto& f) { return yes_if(f.icc == wide_profile()); }},
      {"Gain map",
       [](const auto& f) {
         const auto item = jpeg::find_gain_map_item(jpeg::as_text(f.xmp));
         return !f.gain_map                                       ? std::string("no")
                : item && item->bytes == f.mpf[*f.gain_map].bytes ? "corrected"
                                                                  : "yes";
       }},
      {"FlashPix, and other APPn", any_word({"flashpix", "another segment"})},
      {"Bytes behind the picture", any_word({"depth map", "a video behind"})},
  };
  return all;
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  std::stringstream in(line);
  std::string cell;
  std::getline(in, cell, '|');  // before the first bar
  while (std::getline(in, cell, '|')) {
    const auto first = cell.find_first_not_of(' ');
    const auto last = cell.find_last_not_of(' ');
    out.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return out;
}

TEST(ResizerMetadata, TheDocumentedTableIsTrue) {
  std::ifstream in(std::filesystem::path(FRAMEWIRE_DOCS) / "metadata.md");
  ASSERT_TRUE(in);
  std::map<std::string, std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    const auto row = cells(line);
    if (row.size() == 4 && row[0] != "part of the file" && row[0].find("---") != 0) {
      rows[row[0]] = {row[1], row[2], row[3]};
    }
  }
  const Bytes input = everything();
  {
    const auto file = parse_or_die(input);
    for (const auto& [part, look] : looks()) {
      EXPECT_EQ(look(file), part == "Gain map" ? "corrected" : "yes")
          << "the input lacks: " << part;
      EXPECT_TRUE(rows.contains(part)) << "no row in docs/metadata.md: " << part;
    }
  }
  int column = 0;
  for (const auto metadata : {Metadata::kStrip, Metadata::kCopyright, Metadata::kKeep}) {
    ResizeOptions options;
    options.width_px = kWidth;
    options.auto_orient = false;
    options.metadata = metadata;
    const Bytes converted = resize_or_die(input, options).bytes;
    options.color = ColorMode::kKeep;
    const Bytes kept = resize_or_die(input, options).bytes;
    for (const auto& [part, cell] : rows) {
      const auto look = looks().find(part);
      ASSERT_NE(look, looks().end()) << "nothing looks for: " << part;
      const bool with_profile = part.find("ICC") == 0;
      EXPECT_EQ(look->second(parse_or_die(with_profile ? kept : converted)),
                cell[static_cast<std::size_t>(column)])
          << part << ", mode " << column;
    }
    ++column;
  }
}

TEST(ResizerMetadata, WhatIsAppendedAndGoneIsAWarning) {
  ResizeOptions options;
  options.width_px = kWidth;
  options.metadata = Metadata::kKeep;
  const Resized out = resize_or_die(everything(), options);
  EXPECT_EQ(kinds(out.report), (std::vector<std::string>{"item_dropped", "item_dropped"}));
  options.strict = true;
  EXPECT_TRUE(Resizer().resize(everything(), options)) << "a video is no fault of the picture";
  options.metadata = Metadata::kStrip;
  EXPECT_TRUE(kinds(resize_or_die(everything(), options).report).empty());
}

}  // namespace
}  // namespace framewire
