// XMP: what an output says in place of its input, and what it must not carry along.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/head.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/xmp.hpp>
#include <tests/support/tiny_jpeg.hpp>

namespace framewire::jpeg {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kBindings =
    "xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:tiff=\"http://ns.adobe.com/tiff/1.0/\" "
    "xmlns:exif=\"http://ns.adobe.com/exif/1.0/\" xmlns:xmp=\"http://ns.adobe.com/xap/1.0/\" "
    "xmlns:xmpGImg=\"http://ns.adobe.com/xap/1.0/g/img/\" "
    "xmlns:xmpNote=\"http://ns.adobe.com/xmp/note/\" "
    "xmlns:xmpRights=\"http://ns.adobe.com/xap/1.0/rights/\" "
    "xmlns:photoshop=\"http://ns.adobe.com/photoshop/1.0/\" "
    "xmlns:plus=\"http://ns.useplus.org/ldf/xmp/1.0/\" "
    "xmlns:cc=\"http://creativecommons.org/ns#\" "
    "xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\" "
    "xmlns:mwg-rs=\"http://www.metadataworkinggroup.com/schemas/regions/\" "
    "xmlns:MP=\"http://ns.microsoft.com/photo/1.2/\" "
    "xmlns:Iptc4xmpExt=\"http://iptc.org/std/Iptc4xmpExt/2008-02-29/\" "
    "xmlns:GPano=\"http://ns.google.com/photos/1.0/panorama/\" "
    "xmlns:GImage=\"http://ns.google.com/photos/1.0/image/\" "
    "xmlns:GDepth=\"http://ns.google.com/photos/1.0/depthmap/\" "
    "xmlns:GCamera=\"http://ns.google.com/photos/1.0/camera/\" "
    "xmlns:Container=\"http://ns.google.com/photos/1.0/container/\" "
    "xmlns:Item=\"http://ns.google.com/photos/1.0/container/item/\"";

/// A packet with one description of these attributes and elements.
std::string packet(std::string_view attributes, std::string_view elements = "") {
  return fmt::format(
      "<?xpacket begin=\"\xEF\xBB\xBF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>"
      "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">\n <rdf:RDF xmlns:rdf=\"{}\">\n"
      "  <rdf:Description rdf:about=\"\" {} {}>{}</rdf:Description>\n </rdf:RDF>\n</x:xmpmeta>"
      "<?xpacket end=\"w\"?>",
      kRdfNamespace, kBindings, attributes, elements);
}

XmpChanges resized() {
  XmpChanges changes;
  changes.width_px = 300;
  changes.height_px = 200;
  changes.keeps_profile = true;
  return changes;
}

std::string rewritten(std::string_view source, const XmpChanges& changes = resized()) {
  return rewrite_xmp(source, changes).value_or("not understood");
}

TEST(JpegXmp, NothingToChangeLeavesThePacketAsItIs) {
  const std::string source = packet("dc:format=\"image/jpeg\"", "<dc:title>A &amp; b</dc:title>");
  EXPECT_EQ(rewritten(source), source);
}

TEST(JpegXmp, AChangedPacketKeepsAllTheRest) {
  const std::string source =
      packet("tiff:ImageWidth=\"4000\" dc:format=\"a&quot;b\"",
             "<dc:title>A &amp; b</dc:title>\n<dc:x><![CDATA[<y>]]></dc:x><!-- a note -->");
  std::string expected = source;
  expected.replace(expected.find("4000"), 4, "300");
  EXPECT_EQ(rewritten(source), expected);
}

TEST(JpegXmp, SizesAreTheOutputs) {
  const std::string attributes =
      rewritten(packet("tiff:ImageWidth=\"4000\" tiff:ImageLength=\"3000\" "
                       "exif:PixelXDimension=\"4000\" exif:PixelYDimension=\"3000\""));
  EXPECT_THAT(attributes, HasSubstr("tiff:ImageWidth=\"300\" tiff:ImageLength=\"200\" "
                                    "exif:PixelXDimension=\"300\" exif:PixelYDimension=\"200\""));
  const std::string elements = rewritten(packet(
      "",
      "<tiff:ImageWidth>4000</tiff:ImageWidth><exif:PixelYDimension>3000</exif:PixelYDimension>"));
  EXPECT_THAT(elements, HasSubstr("<tiff:ImageWidth>300</tiff:ImageWidth>"
                                  "<exif:PixelYDimension>200</exif:PixelYDimension>"));
}

TEST(JpegXmp, OrientationAndColourFollowThePixels) {
  const std::string source = packet(
      "tiff:Orientation=\"6\" exif:ColorSpace=\"65535\" photoshop:ICCProfile=\"Adobe RGB (1998)\"");
  EXPECT_EQ(rewritten(source), source) << "not turned, not converted, profile kept";
  XmpChanges converted = resized();
  converted.upright = converted.is_srgb = true;
  converted.keeps_profile = false;
  EXPECT_THAT(rewritten(source, converted),
              HasSubstr("tiff:Orientation=\"1\" exif:ColorSpace=\"1\" "
                        "photoshop:ICCProfile=\"sRGB IEC61966-2.1\""));
  XmpChanges dropped = resized();
  dropped.keeps_profile = false;
  EXPECT_THAT(rewritten(source, dropped), Not(HasSubstr("ICCProfile")));
}

TEST(JpegXmp, PrefixesAreOnlyPrefixes) {
  const std::string source =
      "<a:xmpmeta xmlns:a='adobe:ns:meta/'><r:RDF xmlns:r='http://www.w3.org/1999/02/"
      "22-rdf-syntax-ns#'><r:Description xmlns:t='http://ns.adobe.com/tiff/1.0/' "
      "xmlns:tiff='urn:another' t:Orientation = '6' tiff:Orientation='7'/></r:RDF></a:xmpmeta>";
  XmpChanges changes = resized();
  changes.upright = true;
  EXPECT_THAT(rewritten(source, changes), HasSubstr("t:Orientation=\"1\" tiff:Orientation=\"7\""));
}

// The packet's root bound to a family that goes: nothing is left, which is no packet.
TEST(JpegXmp, APacketOfWhichAllGoesIsNone) {
  const std::string source =
      "<?xpacket begin=\"\" id=\"W5\"?><x:xmpmeta "
      "xmlns:x=\"http://ns.google.com/photos/1.0/depthmap/\">"
      "<x:Data>1</x:Data></x:xmpmeta><?xpacket end=\"w\"?>";
  EXPECT_EQ(rewrite_xmp(source, {}), std::nullopt);
}

// A map whose properties stand outside RDF could not be carried on with them.
TEST(JpegXmp, AGainMapIsDeclaredWhereItsPropertiesCanBeRead) {
  const std::string inside =
      "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF "
      "xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description rdf:about=\"\" "
      "xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\" hdrgm:Version=\"1.0\"/></rdf:RDF>"
      "</x:xmpmeta>";
  EXPECT_TRUE(declares_gain_map(inside));
  std::string outside = inside;
  outside.replace(outside.find("22-rdf"), 2, "23");
  EXPECT_FALSE(declares_gain_map(outside));
}

TEST(JpegXmp, PicturesAreLeftOut) {
  const std::string base64(4000, 'A');
  const std::string source = packet(
      "xmpNote:HasExtendedXMP=\"0123456789ABCDEF0123456789ABCDEF\" GImage:Mime=\"image/jpeg\" "
      "GDepth:Format=\"RangeInverse\" dc:kept=\"yes\"",
      "<xmp:Thumbnails><rdf:Alt><rdf:li rdf:parseType=\"Resource\"><xmpGImg:width>256"
      "</xmpGImg:width><xmpGImg:image>" +
          base64 +
          "</xmpGImg:image></rdf:li></rdf:Alt>"
          "</xmp:Thumbnails><GImage:Data>" +
          base64 + "</GImage:Data><dc:also>kept</dc:also>");
  const std::string output = rewritten(source);
  for (const auto* gone :
       {"HasExtendedXMP=", "<xmp:Thumbnails", "AAAA", "GImage:Mime", "GDepth:Format"}) {
    EXPECT_THAT(output, Not(HasSubstr(gone)));
  }
  EXPECT_THAT(output, HasSubstr("dc:kept=\"yes\""));
  EXPECT_THAT(output, HasSubstr("<dc:also>kept</dc:also>"));
}

TEST(JpegXmp, PlacesInThePictureLeaveWithIt) {
  const std::string regions =
      packet("GPano:FullPanoWidthPixels=\"8000\"",
             "<mwg-rs:Regions><mwg-rs:Name>Ann</mwg-rs:Name></mwg-rs:Regions>"
             "<MP:RegionInfo><MP:PersonDisplayName>Bob</MP:PersonDisplayName></MP:RegionInfo>"
             "<Iptc4xmpExt:ImageRegion>Cid</Iptc4xmpExt:ImageRegion>");
  const std::string in_pixels =
      packet("exif:SubjectLocation=\"70 50\"", "<exif:SubjectArea><rdf:Seq/></exif:SubjectArea>");
  XmpChanges changes = resized();
  for (const auto places : {Places::kSame, Places::kScaled}) {
    changes.places = places;
    EXPECT_EQ(rewritten(regions, changes), regions);
  }
  changes.places = Places::kMoved;
  const std::string moved = rewritten(regions, changes);
  for (const char* gone : {"Ann", "Bob", "Cid", "8000"}) EXPECT_THAT(moved, Not(HasSubstr(gone)));
  for (const auto places : {Places::kScaled, Places::kMoved}) {
    changes.places = places;
    EXPECT_THAT(rewritten(in_pixels, changes), Not(HasSubstr("exif:Subject")));
  }
  changes.places = Places::kSame;
  EXPECT_EQ(rewritten(in_pixels, changes), in_pixels);
}

TEST(JpegXmp, APictureOfAnyNameIsLeftOut) {
  const std::string jpeg = "/9j/4AAQSkZJRg" + std::string(500, 'A');
  for (const std::string& value :
       {jpeg, "data:image/jpeg;base64," + jpeg, "iVBORw0KGgo" + std::string(500, 'A'),
        "\n " + jpeg.substr(0, 76) + "\n" + jpeg.substr(76)}) {
    const std::string element = rewritten(packet("", "<dc:x>" + value + "</dc:x><dc:y>z</dc:y>"));
    EXPECT_THAT(element, Not(HasSubstr("AAAAAAAA")));
    EXPECT_THAT(element, HasSubstr("<dc:y>z</dc:y>"));
    const std::string attribute = rewritten(packet("dc:x=\"" + value + "\" dc:y=\"z\""));
    EXPECT_THAT(attribute, Not(HasSubstr("AAAAAAAA")));
    EXPECT_THAT(attribute, HasSubstr("dc:y=\"z\""));
    EXPECT_THAT(rewritten(packet("", "<!--" + value + "-->")), Not(HasSubstr("AAAAAAAA")));
  }
  EXPECT_THAT(rewritten(packet("dc:x=\"/9j/ is how it begins\"")), HasSubstr("/9j/"));
}

// Around what goes lie two halves of a picture, which would be one text in the output.
TEST(JpegXmp, APictureInHalvesIsNotPutTogether) {
  const std::string picture = "/9j/" + std::string(100, 'A');
  const std::string halves =
      picture.substr(0, 40) + "<xmp:Thumbnails>small</xmp:Thumbnails>" + picture.substr(40);
  EXPECT_EQ(rewritten(packet("", "<dc:title>" + halves + "</dc:title>")), "not understood");
}

TEST(JpegXmp, WhatIsNoXmlIsNotCarried) {
  for (const std::string& source :
       {std::string("<a"), std::string("<a></b>"), std::string(70'000, ' '),
        packet("xmlns:a:b=\"urn:colon\""),
        packet("xmlns:dc=\"urn:twice\"", "<dc:a xmlns:dc=\"urn:other\"/>")}) {
    EXPECT_FALSE(rewrite_xmp(source, resized()));
  }
}

constexpr std::string_view kRights =
    "<dc:rights><rdf:Alt><rdf:li xml:lang=\"x-default\">(c) Ann</rdf:li></rdf:Alt></dc:rights>"
    "<dc:creator><rdf:Seq><rdf:li>Ann</rdf:li></rdf:Seq></dc:creator>"
    "<xmpRights:UsageTerms><rdf:Alt><rdf:li xml:lang=\"x-default\">ask</rdf:li></rdf:Alt>"
    "</xmpRights:UsageTerms>"
    "<plus:Licensor><rdf:Seq><rdf:li rdf:parseType=\"Resource\"><plus:LicensorName>Ann"
    "</plus:LicensorName></rdf:li></rdf:Seq></plus:Licensor>"
    "<cc:license rdf:resource=\"https://creativecommons.org/licenses/by/4.0/\"/>";

TEST(JpegXmp, CopyrightIsExactlyTheRights) {
  const std::string source = packet(
      "xmpRights:Marked=\"True\" photoshop:Credit=\"Ann/Agency\" photoshop:City=\"Lisbon\" "
      "dc:format=\"image/jpeg\" tiff:Orientation=\"6\"",
      std::string(kRights) + "<dc:subject><rdf:Bag><rdf:li>word</rdf:li></rdf:Bag></dc:subject>");
  const std::string rights = make_rights_xmp(source, 0);
  const auto tree = XmpTree::parse(rights);
  ASSERT_TRUE(tree) << rights;
  EXPECT_THAT(rights, HasSubstr(kRights));
  EXPECT_THAT(rights, HasSubstr("xmpRights:Marked=\"True\" photoshop:Credit=\"Ann/Agency\""));
  for (const auto* other : {"Lisbon", "format", "Orientation", "word", "ns.adobe.com/tiff"}) {
    EXPECT_THAT(rights, Not(HasSubstr(other)));
  }
  EXPECT_EQ(make_rights_xmp(rights, 0), rights) << "what is kept can be read again";
  EXPECT_EQ(make_rights_xmp(packet("dc:format=\"image/jpeg\""), 0), "");
}

TEST(JpegXmp, RightsHideNoPicture) {
  const std::string picture = "/9j/" + std::string(500, 'A');
  const std::string rights = make_rights_xmp(
      packet("", "<dc:rights>mine</dc:rights><plus:Other>" + picture + "</plus:Other>"), 0);
  EXPECT_THAT(rights, HasSubstr("mine"));
  EXPECT_THAT(rights, Not(HasSubstr("AAAA")));
}

TEST(JpegXmp, RightsAndAGainMapGoTogether) {
  const std::string xmp = make_rights_xmp(packet("hdrgm:Version=\"1.0\"", kRights), 4567);
  EXPECT_TRUE(declares_gain_map(xmp));
  EXPECT_EQ(find_gain_map_item(xmp)->bytes, 4567u);
  EXPECT_THAT(xmp, HasSubstr("(c) Ann"));
}

constexpr std::string_view kMotionDirectory =
    "<Container:Directory><rdf:Seq>"
    "<rdf:li rdf:parseType=\"Resource\"><Container:Item Item:Mime=\"image/jpeg\" "
    "Item:Semantic=\"Primary\" Item:Length=\"0\"/></rdf:li>"
    "<rdf:li rdf:parseType=\"Resource\"><Container:Item Item:Mime=\"image/jpeg\" "
    "Item:Semantic=\"GainMap\" Item:Length=\"1000\"/></rdf:li>"
    "<rdf:li rdf:parseType=\"Resource\"><Container:Item Item:Mime=\"video/mp4\" "
    "Item:Semantic=\"MotionPhoto\" Item:Length=\"2000\"/></rdf:li></rdf:Seq></Container:Directory>";

TEST(JpegXmp, ContainerItemsLieUpToTheEnd) {
  const auto items = find_container_items(packet("", kMotionDirectory));
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[1].semantic, "GainMap");
  EXPECT_EQ(items[1].bytes, 1000u);
  EXPECT_EQ(items[1].from_end, 3000u);
  EXPECT_EQ(items[2].mime, "video/mp4");
  const auto micro = find_container_items(packet("GCamera:MicroVideoOffset=\"777\""));
  ASSERT_EQ(micro.size(), 1u);
  EXPECT_EQ(micro[0].bytes, 777u);
  // As elements instead of attributes.
  const auto plain = find_container_items(
      packet("",
             "<Container:Directory><rdf:Seq><rdf:li><Item:Semantic>GainMap</Item:Semantic>"
             "<Item:Length>5</Item:Length></rdf:li></rdf:Seq></Container:Directory>"));
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_EQ(plain[0].bytes, 5u);
}

TEST(JpegXmp, WhatIsGoneIsNotAnnounced) {
  const std::string source = packet(
      "GCamera:MotionPhoto=\"1\" GCamera:MotionPhotoVersion=\"1\" "
      "GCamera:MotionPhotoPresentationTimestampUs=\"5\" GCamera:MicroVideo=\"1\" "
      "GCamera:MicroVideoOffset=\"2000\" GCamera:Other=\"stays\" hdrgm:Version=\"1.0\"",
      kMotionDirectory);
  const std::string alone = rewritten(source);
  EXPECT_TRUE(find_container_items(alone).empty());
  EXPECT_FALSE(declares_gain_map(alone));
  EXPECT_THAT(alone, Not(HasSubstr("MotionPhoto")));
  EXPECT_THAT(alone, Not(HasSubstr("MicroVideo")));
  EXPECT_THAT(alone, HasSubstr("GCamera:Other=\"stays\""));
  XmpChanges with_map = resized();
  with_map.gain_map_bytes = 432;
  const std::string kept = rewritten(source, with_map);
  const auto items = find_container_items(kept);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[1].semantic, "GainMap");
  EXPECT_EQ(items[1].bytes, 432u);
  EXPECT_TRUE(declares_gain_map(kept));
  EXPECT_THAT(kept, Not(HasSubstr("MotionPhoto")));
}

TEST(JpegXmp, EveryItemThatGoesIsAWarning) {
  Bytes payload;
  append_text(payload, kXmpId);
  append_text(payload, packet("GCamera:MicroVideoOffset=\"777\"", kMotionDirectory));
  const Bytes bytes = tiny::baseline({{marker::kApp1, payload}});
  const auto file = parse(bytes, {});
  ASSERT_TRUE(file);
  const auto losses = list_losses(*file);
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0].kind, WarningKind::kItemDropped);
  EXPECT_THAT(losses[0].message, HasSubstr("MotionPhoto (video/mp4, 2000 bytes)"));
  EXPECT_THAT(losses[1].message, HasSubstr("MicroVideo"));
}

TEST(JpegXmp, AMadeGainMapPacketReadsBack) {
  const std::string xmp = make_gain_map_xmp(123);
  ASSERT_TRUE(declares_gain_map(xmp));
  EXPECT_EQ(find_gain_map_item(xmp)->bytes, 123u);
  EXPECT_EQ(find_gain_map_item(xmp)->from_end, 123u);
}

TEST(JpegXmp, AGainMapsOwnPacketIsItsParameters) {
  const std::string xmp = make_gain_map_parameters_xmp(
      packet("hdrgm:Version=\"1.0\" dc:format=\"x\"",
             "<hdrgm:GainMapMax><rdf:Seq><rdf:li>1</rdf:li></rdf:Seq></hdrgm:GainMapMax>"
             "<xmp:Thumbnails>y</xmp:Thumbnails>"));
  EXPECT_TRUE(declares_gain_map(xmp));
  EXPECT_THAT(xmp, HasSubstr("<hdrgm:GainMapMax><rdf:Seq><rdf:li>1"));
  EXPECT_THAT(xmp, Not(HasSubstr("format")));
  EXPECT_THAT(xmp, Not(HasSubstr("Thumbnails>")));
}

}  // namespace
}  // namespace framewire::jpeg
