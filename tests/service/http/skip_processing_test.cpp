// skip_processing: the picture bit for bit, and of what else the original tells only what is
// allowed.
#include <gtest/gtest.h>
#include <jpeg/bytes.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/writer.hpp>
#include <tests/service/http/image_server.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <tests/support/sample_jpeg.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
namespace scripted = service::test;

/// A photograph on its side with an author, a comment, and bytes behind its end.
std::string telling_jpeg() {
  jpeg::ExifSummary summary;
  summary.orientation = 6;
  summary.artist = "Ann";
  Bytes exif;
  jpeg::append_text(exif, jpeg::kExifId);
  jpeg::append_bytes(exif, jpeg::make_exif(summary));
  const std::string_view comment = "at home";
  const Bytes jpeg = sample::with_segments(
      make_jpeg(400, 300),
      {{jpeg::marker::kApp1, exif}, {jpeg::marker::kCom, Bytes(comment.begin(), comment.end())}});
  return text_of(jpeg) + "bytes behind the end";
}

std::vector<sample::Bytes> samples_of(std::string_view jpeg) {
  std::vector<sample::Bytes> out;
  const Bytes bytes(jpeg.begin(), jpeg.end());
  for (const sample::Plane& plane : sample::decode(bytes).planes) out.push_back(plane.samples);
  return out;
}

bool tells(const std::string& body, std::string_view what) {
  return body.find(what) != std::string::npos;
}

const std::string kSkip = "/unsafe/skp:jpg/w:100/plain/a.jpg";

ServiceSettings serving(const scripted::TemporaryFolder& folder) {
  ServiceSettings settings = loopback();
  settings.source.root = folder.path().string();
  return settings;
}

TEST(HttpSkipProcessingAttack, OriginalsTellNoMoreThanOtherAnswers) {
  const scripted::TemporaryFolder folder;
  const std::string original = telling_jpeg();
  folder.write("a.jpg", original);
  ServiceSettings settings = serving(folder);
  settings.url.presets = {"original=skp:jpg"};
  settings.metadata_given = true;  // --metadata strip
  const std::string preset = "/unsafe/pr:original/plain/a.jpg";
  TestServer server(settings);
  for (const std::string& target : {kSkip, preset}) {
    TestClient client(server.endpoint());
    const auto answer = client.ask(get(target));
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->status, 200) << answer->body;
    EXPECT_EQ(answer->field("content-type"), "image/jpeg");
    EXPECT_EQ(samples_of(answer->body), samples_of(original)) << "bit for bit";
    for (const char* told : {"Ann", "at home", "behind the end"}) {
      EXPECT_FALSE(tells(answer->body, told)) << told;
    }
    const Bytes bytes(answer->body.begin(), answer->body.end());
    EXPECT_EQ(jpeg::parse(bytes, {})->orientation, 6) << "browsers turn it";
    const auto head = client.ask("HEAD " + target + " HTTP/1.1\r\nHost: test\r\n\r\n", false);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->field("content-length"), std::to_string(answer->body.size()));
  }
  EXPECT_TRUE(server.idle());
}

TEST(HttpSkipProcessing, MetadataIsThatOfOtherUrls) {
  const scripted::TemporaryFolder folder;
  folder.write("a.jpg", telling_jpeg());
  TestServer server(serving(folder));
  TestClient client(server.endpoint());
  const auto by_default = client.ask(get(kSkip));
  EXPECT_TRUE(tells(by_default->body, "Ann"));
  EXPECT_FALSE(tells(by_default->body, "at home"));
  const auto all = client.ask(get("/unsafe/skp:jpg/sm:0/plain/a.jpg"));
  EXPECT_TRUE(tells(all->body, "at home"));
  EXPECT_FALSE(tells(all->body, "behind the end"));
}

// EXIF that says Adobe RGB (uncalibrated, R03) is left out, and the colours must stay.
TEST(HttpSkipProcessing, AdobeRgbStaysInAProfile) {
  using namespace jpeg;
  Bytes exif;
  append_text(exif, kExifId);
  append_text(exif, "MM");
  append_u16(exif, 42);
  const auto entry = [&](std::uint16_t tag, std::uint16_t type, std::uint32_t count) {
    append_u16(exif, tag);
    append_u16(exif, type);
    append_u32(exif, count);
  };
  append_u32(exif, 8);
  append_u16(exif, 1);  // IFD0 at 8
  entry(0x8769, 4, 1);
  append_u32(exif, 26);
  append_u32(exif, 0);
  append_u16(exif, 2);  // EXIF at 26
  entry(0xA001, 3, 1);
  append_u32(exif, 0xFFFF0000);
  entry(0xA005, 4, 1);
  append_u32(exif, 56);
  append_u32(exif, 0);
  append_u16(exif, 1);  // interoperability at 56
  entry(1, 2, 4);
  append_text(exif, std::string_view("R03\0", 4));
  append_u32(exif, 0);
  const scripted::TemporaryFolder folder;
  folder.write("a.jpg", text_of(sample::with_segments(make_jpeg(40, 30), {{marker::kApp1, exif}})));
  TestServer server(serving(folder));
  TestClient client(server.endpoint());
  const auto answer = client.ask(get(kSkip));
  const Bytes bytes(answer->body.begin(), answer->body.end());
  const auto file = jpeg::parse(bytes, {});
  ASSERT_TRUE(file) << answer->body;
  EXPECT_TRUE(file->exif.empty());
  EXPECT_FALSE(file->icc.empty());
}

TEST(HttpSkipProcessing, EtagsTellWhetherItIsTheOriginal) {
  const scripted::TemporaryFolder folder;
  const std::string original = telling_jpeg();
  folder.write("a.jpg", original);
  std::this_thread::sleep_for(150ms);  // until its times of change say enough
  ServiceSettings settings = serving(folder);
  TestServer closed(settings);
  settings.allow_raw = true;
  TestServer open(settings);
  TestClient at_closed(closed.endpoint());
  TestClient at_open(open.endpoint());
  const auto without = at_closed.ask(get(kSkip));
  const auto whole = at_open.ask(get(kSkip));
  EXPECT_EQ(whole->body, original) << "--allow-raw";
  const std::string etag = without->field("etag");
  EXPECT_NE(etag, whole->field("etag"));
  EXPECT_EQ(at_closed.ask(get(kSkip, "If-None-Match: " + etag + "\r\n"))->status, 304);
  EXPECT_EQ(at_open.ask(get(kSkip, "If-None-Match: " + etag + "\r\n"))->status, 200);
}

TEST(HttpSkipProcessing, WhatIsNoJpegIsRefused) {
  const scripted::TemporaryFolder folder;
  folder.write("page.jpg", "<script>");
  folder.write("cut.jpg", telling_jpeg().substr(0, 30));
  folder.write("empty.jpg", "");
  TestServer server(serving(folder));
  TestClient client(server.endpoint());
  for (const char* name : {"page.jpg", "cut.jpg", "empty.jpg"}) {
    EXPECT_EQ(client.ask(get(std::string("/unsafe/skp:jpg/plain/") + name))->status, 422) << name;
  }
  EXPECT_TRUE(server.idle());
}

}  // namespace
}  // namespace framewire::service::http::test
