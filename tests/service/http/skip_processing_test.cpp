// skip_processing: the picture as the original shows it, and of what else the original tells only
// what is allowed.
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

/// A photograph on its side that tells more than its picture in every place that a file has for it.
std::string telling_jpeg() {
  jpeg::ExifSummary summary;
  summary.orientation = 6;
  summary.artist = "Ann";
  Bytes exif;
  jpeg::append_text(exif, jpeg::kExifId);
  jpeg::append_bytes(exif, jpeg::make_exif(summary));
  const auto bytes_of = [](std::string_view text) { return Bytes(text.begin(), text.end()); };
  Bytes profile;
  jpeg::append_text(profile, std::string_view("ICC_PROFILE\0\1\1", 14));
  jpeg::append_text(profile, "no profile at all");
  std::string file = text_of(sample::with_segments(
      make_jpeg(400, 300), {{jpeg::marker::kApp1, exif},
                            {jpeg::marker::kCom, bytes_of("at home")},
                            {jpeg::marker::kApp2, profile},
                            {jpeg::marker::kDnl, bytes_of("in a line count")}}));
  file.insert(file.size() - 2, "before the end");
  return file + "bytes behind the end";
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
    for (const char* told :
         {"Ann", "at home", "no profile", "line count", "before the end", "behind the end"}) {
      EXPECT_FALSE(tells(answer->body, told)) << told;
    }
    const Bytes bytes(answer->body.begin(), answer->body.end());
    const auto file = jpeg::parse(bytes, {});
    ASSERT_TRUE(file);
    EXPECT_EQ(file->frame.width_px, 300) << "upright, and no other option counts";
    EXPECT_EQ(file->frame.height_px, 400);
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
