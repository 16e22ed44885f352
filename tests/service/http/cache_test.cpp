// The cache on disk behind URLs: what comes from it, and when it must not.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <atomic>
#include <map>
#include <mutex>
#include <service/http/answer_cache.hpp>
#include <service/http/freshness.hpp>
#include <tests/service/cache/disk_cache_fixture.hpp>
#include <tests/service/http/image_server.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
using cache::test::eventually;
namespace scripted = service::test;

const std::string kHit = "framewire; hit";
const std::string kMiss = "framewire; fwd=uri-miss";
const std::string kRevalidated = "framewire; fwd=stale; fwd-status=304";
const std::string kSmall = "/unsafe/w:100/plain/http://images.test/a.jpg";

ServiceSettings with_cache(const scripted::TemporaryFolder& folder) {
  ServiceSettings settings = loopback();
  settings.cache_dir = (folder.path() / "cache").string();
  settings.source.root = folder.path().string();
  return settings;
}

std::uint64_t figure(TestServer& server, const std::string& name) {
  TestClient client(server.endpoint());
  const auto answer = client.ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  if (!answer) return 0;
  const auto at = answer->body.find("\n" + name + " ");
  return at == std::string::npos
             ? 0
             : static_cast<std::uint64_t>(std::stod(answer->body.substr(at + name.size() + 2)));
}

[[nodiscard]] bool written(TestServer& server, std::uint64_t files) {
  return eventually([&] { return figure(server, "framewire_cache_written_total") >= files; });
}

// All fields but those that tell of one request alone.
std::multimap<std::string, std::string> lasting_fields(const Answer& answer) {
  auto fields = answer.fields;
  for (const char* name : {"date", "x-request-id", "server-timing", "cache-status"}) {
    fields.erase(name);
  }
  return fields;
}

// Old enough for its times to say all there is.
std::filesystem::path old_file(const scripted::TemporaryFolder& folder, const std::string& name,
                               const Bytes& bytes) {
  const auto file = folder.write(name, text_of(bytes));
  struct stat status {};
  EXPECT_TRUE(eventually([&] {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return ::stat(file.c_str(), &status) == 0 &&
           (now.tv_sec - status.st_ctim.tv_sec) * 1'000'000'000 + now.tv_nsec -
                   status.st_ctim.tv_nsec >
               150'000'000;
  }));
  return file;
}

TEST(HttpCache, AFileIsComputedOnce) {
  const scripted::TemporaryFolder folder;
  (void)old_file(folder, "a.jpg", make_jpeg(400, 300));
  TestServer server(with_cache(folder));
  TestClient client(server.endpoint());
  const auto first = client.ask(get("/unsafe/w:100/q:70/plain/a.jpg"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->field("cache-status"), kMiss);
  ASSERT_TRUE(written(server, 1));
  const auto images = server.engine().stats().host_images;
  for (const char* target :
       {"/unsafe/w:100/q:70/plain/a.jpg", "/other/quality:70/width:100/plain/a.jpg"}) {
    const auto again = client.ask(get(target));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->status, 200);
    EXPECT_EQ(again->field("cache-status"), kHit);
    EXPECT_EQ(again->body, first->body);
    EXPECT_EQ(lasting_fields(*again), lasting_fields(*first));
    EXPECT_NE(again->field("server-timing").find("fetch;dur="), std::string::npos);
  }
  EXPECT_EQ(server.engine().stats().host_images, images) << "nothing was computed";
  const auto other = client.ask(get("/unsafe/w:100/q:71/plain/a.jpg"));
  EXPECT_EQ(other->field("cache-status"), kMiss);
  const auto known = client.ask(
      get("/unsafe/w:100/q:70/plain/a.jpg", "If-None-Match: " + first->field("etag") + "\r\n"));
  EXPECT_EQ(known->status, 304);
  const auto head =
      client.ask("HEAD /unsafe/w:100/q:70/plain/a.jpg HTTP/1.1\r\nHost: t\r\n\r\n", false);
  EXPECT_EQ(head->field("cache-status"), kHit);
  EXPECT_EQ(head->field("content-length"), std::to_string(first->body.size()));
  EXPECT_EQ(figure(server, "framewire_cache_requests_total{result=\"hit\"}"), 3u);
  EXPECT_EQ(figure(server, "framewire_cache_requests_total{result=\"miss\"}"), 2u);
  EXPECT_TRUE(server.idle());
}

TEST(HttpCache, SurvivesARestart) {
  const scripted::TemporaryFolder folder;
  (void)old_file(folder, "a.jpg", make_jpeg(400, 300));
  std::string body;
  {
    TestServer server(with_cache(folder));
    body = TestClient(server.endpoint()).ask(get("/unsafe/w:100/plain/a.jpg"))->body;
    ASSERT_TRUE(written(server, 1));
  }
  TestServer server(with_cache(folder));
  const auto again = TestClient(server.endpoint()).ask(get("/unsafe/w:100/plain/a.jpg"));
  EXPECT_EQ(again->field("cache-status"), kHit);
  EXPECT_EQ(again->body, body);
}

// Each codec makes bytes of its own.
TEST(HttpCache, ResultsAndTagsAreOfOneCodec) {
  const scripted::TemporaryFolder folder;
  (void)old_file(folder, "a.jpg", make_jpeg(400, 300));
  std::map<std::string, std::string> bodies;  // by their ETags
  for (const CodecKind codec : {CodecKind::kTurbo, CodecKind::kReference, CodecKind::kTurbo}) {
    ServiceSettings settings = with_cache(folder);
    settings.defaults.codec = codec;
    TestServer server(settings);
    TestClient client(server.endpoint());
    const auto answer = client.ask(get("/unsafe/w:100/plain/a.jpg"));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->field("x-framewire-codec"), to_string(codec));
    const auto [known, is_new] = bodies.emplace(answer->field("etag"), answer->body);
    EXPECT_EQ(known->second, answer->body);
    ASSERT_TRUE(!is_new || written(server, 1));
    EXPECT_EQ(answer->field("cache-status"), is_new ? kMiss : kHit);
  }
  EXPECT_EQ(bodies.size(), 2u);
}

TEST(HttpCache, AChangedFileIsComputedAgain) {
  const scripted::TemporaryFolder folder;
  (void)old_file(folder, "a.jpg", make_jpeg(400, 300));
  TestServer server(with_cache(folder));
  TestClient client(server.endpoint());
  const std::string target = "/unsafe/w:100/plain/a.jpg";
  const auto first = client.ask(get(target));
  ASSERT_TRUE(written(server, 1));
  (void)old_file(folder, "a.jpg", make_jpeg(400, 400));
  const auto changed = client.ask(get(target));
  EXPECT_EQ(changed->field("cache-status"), kMiss);
  EXPECT_EQ(size_of(changed->body), "100x100");
  ASSERT_TRUE(written(server, 2));
  EXPECT_EQ(client.ask(get(target))->body, changed->body);
  std::filesystem::remove(folder.path() / "a.jpg");
  EXPECT_EQ(client.ask(get(target))->status, 404) << "a file that is gone is not served";
}

TEST(HttpCache, ErrorsAndOriginalsAreNotKept) {
  const scripted::TemporaryFolder folder;
  (void)old_file(folder, "a.jpg", make_jpeg(400, 300));
  folder.write("b.jpg", "no JPEG");
  ServiceSettings settings = with_cache(folder);
  settings.allow_raw = true;
  TestServer server(settings);
  TestClient client(server.endpoint());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client.ask(get("/unsafe/plain/none.jpg"))->status, 404);
    EXPECT_EQ(client.ask(get("/unsafe/plain/b.jpg"))->status, 422);
    const auto raw = client.ask(get("/unsafe/raw:1/plain/a.jpg"));
    EXPECT_EQ(raw->status, 200);
    EXPECT_EQ(raw->field("cache-status"), "");
  }
  // What comes later is written later.
  EXPECT_EQ(client.ask(get("/unsafe/plain/a.jpg"))->status, 200);
  ASSERT_TRUE(written(server, 1));
  EXPECT_EQ(figure(server, "framewire_cache_entries"), 1u);
}

// An origin with one picture of one ETag, which counts what it is asked.
struct CountingOrigin {
  std::atomic<int> asked = 0;
  std::atomic<int> sent = 0;
  std::atomic<bool> failing = false;
  std::mutex mutex;
  std::string fields = "ETag: \"one\"\r\n";
  Bytes bytes = make_jpeg(400, 300);

  void say(const std::string& words) {
    const std::lock_guard lock(mutex);
    fields = words;
  }
  std::function<void(scripted::Connection&)> script() {
    return scripted::answering([this](const std::string& head) -> std::string {
      ++asked;
      if (failing) return "HTTP/1.1 500 Word\r\nContent-Length: 0\r\n\r\n";
      const std::lock_guard lock(mutex);
      const auto tag = fields.find("ETag: ");
      const std::string etag = tag == std::string::npos
                                   ? "(none)"
                                   : fields.substr(tag + 6, fields.find('\r', tag) - tag - 6);
      const auto date = fields.find("Last-Modified: ");
      const std::string since = date == std::string::npos
                                    ? "(none)"
                                    : fields.substr(date + 15, fields.find('\r', date) - date - 15);
      if (head.find("If-None-Match: " + etag + "\r\n") != std::string::npos ||
          head.find("If-Modified-Since: " + since + "\r\n") != std::string::npos) {
        return "HTTP/1.1 304 Not Modified\r\n" + fields + "\r\n";
      }
      ++sent;
      return "HTTP/1.1 200 OK\r\n" + fields + "Content-Length: " + std::to_string(bytes.size()) +
             "\r\n\r\n" + text_of(bytes);
    });
  }
};

struct CachedOrigin {
  scripted::TemporaryFolder folder;
  CountingOrigin origin;
  ImageServer images;

  explicit CachedOrigin(const std::string& fields, std::uint64_t unsaid_s = 0)
      : images(origin.script(), [&] {
          ServiceSettings settings = with_cache(folder);
          settings.cache_fresh_s = unsaid_s;
          return settings;
        }()) {
    origin.say(fields);
  }
  std::string status_of(const std::string& target = kSmall, const std::string& fields = "") {
    const auto answer = images.ask(target, fields);
    return !answer                 ? "(no answer)"
           : answer->status != 200 ? std::to_string(answer->status)
                                   : answer->field("cache-status");
  }
  /// Asks once, and waits until the answer and the record are written.
  [[nodiscard]] bool fill() { return status_of() == kMiss && written(*images.server, 2); }
};

TEST(HttpCache, AnOriginIsAskedEachTimeUnlessItSaysHowLong) {
  CachedOrigin at("ETag: \"one\"\r\n");
  ASSERT_TRUE(at.fill());
  EXPECT_EQ(at.status_of(), kRevalidated);
  EXPECT_EQ(at.status_of(), kRevalidated);
  EXPECT_EQ(at.origin.asked, 3);
  EXPECT_EQ(at.origin.sent, 1) << "its bytes came once";
  at.origin.say("ETag: \"two\"\r\n");
  EXPECT_EQ(at.status_of(), kMiss);
  EXPECT_EQ(at.origin.sent, 2);
}

TEST(HttpCache, AFreshOriginIsNotAsked) {
  CachedOrigin at("ETag: \"one\"\r\nCache-Control: max-age=600\r\n");
  ASSERT_TRUE(at.fill());
  const auto first = at.images.ask(kSmall);
  EXPECT_EQ(first->field("cache-status"), kHit);
  EXPECT_EQ(at.origin.asked, 1);
  EXPECT_EQ(at.status_of(kSmall, "If-None-Match: " + first->field("etag") + "\r\n"), "304");
  EXPECT_EQ(at.origin.asked, 1);
  EXPECT_EQ(at.status_of("/unsafe/w:90/plain/http://images.test/a.jpg"), kMiss);
}

// RFC 9111 5.1: the origin's word goes with its age.
TEST(HttpCache, HitsTellTheirAgeWithTheOriginsWord) {
  for (const bool passthrough : {true, false}) {
    const scripted::TemporaryFolder folder;
    CountingOrigin origin;
    origin.say("ETag: \"one\"\r\nCache-Control: public, max-age=600\r\nAge: 100\r\n");
    ServiceSettings settings = with_cache(folder);
    settings.cache_control_passthrough = passthrough;
    const ImageServer images(origin.script(), settings);
    const auto age = [&](const std::string& fields = "") {
      const auto answer = images.ask(kSmall, fields);
      return answer && !answer->field("age").empty() ? std::stoi(answer->field("age")) : -1;
    };
    const auto first = images.ask(kSmall);
    ASSERT_TRUE(written(*images.server, 2));
    if (!passthrough) {
      EXPECT_EQ(age(), -1) << "the word is the server's own";
      continue;
    }
    EXPECT_EQ(first->field("cache-control"), "public, max-age=600");
    EXPECT_GE(std::stoi(first->field("age")), 100);
    EXPECT_TRUE(eventually([&] { return age() >= 102; }));
    EXPECT_GE(age("If-None-Match: " + first->field("etag") + "\r\n"), 102);
    EXPECT_EQ(origin.asked, 1);
  }
}

TEST(HttpCache, OldDatesTellOriginalsApart) {
  CachedOrigin at("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  ASSERT_TRUE(at.fill());
  EXPECT_EQ(at.status_of(), kRevalidated);
  at.origin.say("Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT\r\n");
  EXPECT_EQ(at.status_of(), kMiss);
}

TEST(HttpCache, WhatASharedCacheMustNotKeepIsNotKept) {
  for (const char* fields : {"ETag: \"one\"\r\nCache-Control: no-store\r\n",
                             "ETag: \"one\"\r\nCache-Control: max-age=60, private\r\n", "",
                             "Cache-Control: max-age=600\r\n"}) {
    CachedOrigin at(fields);
    EXPECT_EQ(at.status_of(), kMiss) << fields;
    EXPECT_EQ(at.status_of(), kMiss) << fields;
    // The next one is written behind what these may have left to be written.
    at.origin.say("ETag: \"two\"\r\n");
    EXPECT_EQ(at.status_of(), kMiss);
    ASSERT_TRUE(written(*at.images.server, 2));
    EXPECT_EQ(figure(*at.images.server, "framewire_cache_entries"), 2u) << fields;
  }
}

TEST(HttpCache, WhatAnOriginTakesBackGoes) {
  for (const char* word : {"private, max-age=0", "no-store"}) {
    const scripted::TemporaryFolder folder;
    CountingOrigin origin;
    origin.say("ETag: \"one\"\r\nCache-Control: public, max-age=0\r\n");
    ServiceSettings settings = with_cache(folder);
    settings.cache_control_passthrough = true;
    const ImageServer images(origin.script(), settings);
    EXPECT_EQ(images.ask(kSmall)->field("cache-control"), "public, max-age=0");
    ASSERT_TRUE(written(*images.server, 2));
    origin.say(std::string("ETag: \"one\"\r\nCache-Control: ") + word + "\r\n");
    const auto last = images.ask(kSmall);
    EXPECT_EQ(last->field("cache-status"), kRevalidated);
    EXPECT_EQ(last->field("cache-control"), word);
    EXPECT_TRUE(eventually([&] { return figure(*images.server, "framewire_cache_entries") == 0; }));
    EXPECT_EQ(images.ask(kSmall)->field("cache-status"), kMiss);
    EXPECT_EQ(origin.sent, 2);
  }
}

// The client's own copy may be private, of which such a 304 says nothing.
TEST(HttpCache, A304WithoutAWordIsHandedOnWithoutOne) {
  CountingOrigin origin;
  origin.say("ETag: \"one\"\r\nCache-Control: private, max-age=0\r\n");
  ServiceSettings settings = loopback();
  settings.cache_control_passthrough = true;
  const ImageServer images(origin.script(), settings);
  const auto first = images.ask(kSmall);
  EXPECT_EQ(first->field("cache-control"), "private, max-age=0");
  origin.say("ETag: \"one\"\r\n");
  const std::string condition = "If-None-Match: " + first->field("etag") + "\r\n";
  const auto again = images.ask(kSmall, condition);
  EXPECT_EQ(again->status, 304);
  EXPECT_EQ(again->field("cache-control"), "");
  EXPECT_EQ(images.ask(kSmall)->field("cache-control"), "max-age=31536000, public");
}

TEST(HttpCache, ASettingSaysHowLongWhereAnOriginDoesNot) {
  CachedOrigin at("ETag: \"one\"\r\n", 600);
  ASSERT_TRUE(at.fill());
  EXPECT_EQ(at.status_of(), kHit);
  CachedOrigin other("ETag: \"one\"\r\nCache-Control: no-cache\r\n", 600);
  ASSERT_TRUE(other.fill());
  EXPECT_EQ(other.status_of(), kRevalidated);
}

TEST(HttpCache, AFailingOriginIsNotHiddenOnceItsWordIsOver) {
  CachedOrigin at("ETag: \"one\"\r\n");
  ASSERT_TRUE(at.fill());
  at.origin.failing = true;
  EXPECT_EQ(at.status_of(), "502");
  at.origin.failing = false;
  EXPECT_EQ(at.status_of(), kRevalidated);
}

// Behind a redirect another original may have the same tag.
TEST(HttpCacheAttack, ARedirectThatChangesIsNoticed) {
  const scripted::TemporaryFolder folder;
  std::atomic<bool> second = false;
  const std::string one = text_of(make_jpeg(400, 300));
  const std::string two = text_of(make_jpeg(400, 400));
  const ImageServer images(
      scripted::answering([&](const std::string& head) -> std::string {
        if (head.starts_with("GET /a.jpg ")) {
          return std::string("HTTP/1.1 302 Found\r\nCache-Control: max-age=600\r\nLocation: ") +
                 (second ? "/two.jpg" : "/one.jpg") + "\r\nContent-Length: 0\r\n\r\n";
        }
        if (head.find("If-None-Match: \"1\"") != std::string::npos) {
          return "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n";
        }
        const std::string& body = head.starts_with("GET /two.jpg ") ? two : one;
        return "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nCache-Control: max-age=600\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body;
      }),
      with_cache(folder));
  EXPECT_EQ(size_of(images.ask(kSmall)->body), "100x75");
  ASSERT_TRUE(written(*images.server, 2));
  const auto again = images.ask(kSmall);
  EXPECT_EQ(again->field("cache-status"), kRevalidated) << "a redirect is followed each time";
  second = true;
  EXPECT_EQ(size_of(images.ask(kSmall)->body), "100x100");
}

TEST(HttpCache, WarningsAreRemembered) {
  const scripted::TemporaryFolder folder;
  auto half = make_jpeg(400, 300);
  half.resize(half.size() / 2);
  (void)old_file(folder, "half.jpg", half);
  TestServer server(with_cache(folder));
  TestClient client(server.endpoint());
  const std::string target = "/unsafe/w:100/plain/half.jpg";
  const auto first = client.ask(get(target));
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(first->field("cache-status"), kMiss);
  EXPECT_EQ(first->field("x-framewire-warnings"), "truncated");
  ASSERT_TRUE(written(server, 1));
  const auto again = client.ask(get(target));
  EXPECT_EQ(again->field("cache-status"), kHit);
  EXPECT_EQ(again->field("x-framewire-warnings"), "truncated");
}

TEST(HttpCacheAttack, DamagedEntriesAreComputedAgain) {
  const scripted::TemporaryFolder folder;
  (void)old_file(folder, "a.jpg", make_jpeg(400, 300));
  TestServer server(with_cache(folder));
  TestClient client(server.endpoint());
  const std::string target = "/unsafe/w:100/plain/a.jpg";
  const auto first = client.ask(get(target));
  ASSERT_TRUE(written(server, 1));
  using Walk = std::filesystem::recursive_directory_iterator;
  for (const auto& found : Walk(folder.path() / "cache")) {
    if (found.is_regular_file()) std::filesystem::resize_file(found.path(), found.file_size() / 2);
  }
  const auto again = client.ask(get(target));
  EXPECT_EQ(again->field("cache-status"), kMiss);
  EXPECT_EQ(again->body, first->body);
  EXPECT_EQ(figure(server, "framewire_cache_errors_total{type=\"damaged\"}"), 1u);
}

// Whoever may fetch less than before gets nothing that was fetched then.
TEST(HttpCacheAttack, SourcesThatAreNoLongerAllowedAreNotServed) {
  CachedOrigin at("ETag: \"one\"\r\nCache-Control: max-age=600\r\n");
  ASSERT_TRUE(at.fill());
  ServiceSettings narrower = with_cache(at.folder);
  narrower.source.remote = true;
  narrower.source.allowed_sources = {"https://elsewhere.test/"};
  TestServer server(narrower, &at.images.system);
  EXPECT_EQ(TestClient(server.endpoint()).ask(get(kSmall))->status, 404);
}

TEST(HttpCacheAttack, RecordsOfAnyBytesAreRead) {
  SourceRecord record;
  record.final_url = "https://images.test/";
  record.etag = "\"one\"";
  record.fresh_until_s = -5;
  record.made_s = 7;
  const std::string bytes = to_bytes(record);
  const auto view = [](std::string_view text) {
    return std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  const auto read = read_source_record(view(bytes));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->final_url, record.final_url);
  EXPECT_EQ(read->fresh_until_s, -5);
  EXPECT_EQ(read->made_s, 7);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read_source_record(view(std::string_view(bytes).substr(0, length)))) << length;
  }
  EXPECT_FALSE(read_source_record(view(bytes + "x")));
  std::string huge = bytes;
  for (int i = 0; i < 8; ++i) huge[i] = '\xff';
  EXPECT_FALSE(read_source_record(view(huge)));
}

TEST(HttpFreshness, IsReadAsASharedCacheReadsIt) {
  const std::int64_t now = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT
  const auto fresh = [&](OriginWord word) { return freshness_of(word, now, 7, 1000).fresh_s; };
  EXPECT_EQ(fresh({}), 7);
  EXPECT_EQ(fresh({.cache_control = "max-age=60"}), 60);
  EXPECT_EQ(fresh({.cache_control = "public, Max-Age=\"60\""}), 60);
  EXPECT_EQ(fresh({.cache_control = "max-age=60, s-maxage=5"}), 5);
  EXPECT_EQ(fresh({.cache_control = "s-maxage=5, max-age=60"}), 5);
  EXPECT_EQ(fresh({.cache_control = "max-age=60, max-age=5"}), 5);
  EXPECT_EQ(fresh({.cache_control = "max-age=60, no-cache"}), 0);
  EXPECT_EQ(fresh({.cache_control = "max-age=x"}), 0);
  EXPECT_EQ(fresh({.cache_control = "max-age=-5"}), 0);
  EXPECT_EQ(fresh({.cache_control = "max-age"}), 0);
  EXPECT_EQ(fresh({.cache_control = "max-age=99999999999999999999999"}), 1000);
  EXPECT_EQ(fresh({.cache_control = "max-age=60", .age = "20"}), 40);
  EXPECT_EQ(fresh({.cache_control = "max-age=60", .age = "90"}), 0);
  EXPECT_EQ(fresh({.cache_control = "max-age=60", .age = "no"}), 0);
  EXPECT_EQ(fresh({.cache_control = "max-age=60", .vary = "*"}), 0);
  EXPECT_EQ(fresh({.cache_control = "max-age=60", .vary = "Accept"}), 60);
  EXPECT_EQ(fresh({.expires = "Sun, 06 Nov 1994 08:50:37 GMT"}), 60);
  EXPECT_EQ(fresh({.expires = "Sun, 06 Nov 1994 08:49:07 GMT"}), 0);
  EXPECT_EQ(fresh({.expires = "0"}), 0);
  EXPECT_EQ(fresh({.cache_control = "public", .expires = "0"}), 0);
  for (const char* words : {"no-store", "private", "Private=\"x\"", "max-age=5 , no-store"}) {
    EXPECT_FALSE(freshness_of({.cache_control = words}, now, 7, 1000).storable) << words;
  }
  EXPECT_TRUE(freshness_of({.cache_control = "no-cache"}, now, 7, 1000).storable);
}

}  // namespace
}  // namespace framewire::service::http::test
