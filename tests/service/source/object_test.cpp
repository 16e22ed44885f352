// Objects as originals, of a store on loopback that answers as a script says.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <tests/service/support/fake_network.hpp>
#include <tests/service/support/gzip.hpp>
#include <tests/service/support/origin_server.hpp>
#include <thread>

namespace framewire::service::source {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPicture = "\xff\xd8 picture";

// A store, and a Sources that fetches from it.
struct ObjectOrigin {
  explicit ObjectOrigin(std::function<void(test::Connection&)> script, SourceSettings settings = {})
      : server([this, script](test::Connection& connection) { script(connection); }),
        network(server.port()) {
    settings.objects.on = true;
    settings.objects.store.endpoint = fmt::format("http://127.0.0.1:{}", server.port());
    Network injected = network.network();
    injected.environment = test::store_keys();
    auto made = Sources::make(std::move(settings), std::move(injected));
    EXPECT_TRUE(made) << made.error().to_string();
    sources = std::make_unique<Sources>(std::move(*made));
  }
  Fetched<Original> fetch(const std::string& url) { return test::fetch(*sources, url); }

  test::OriginServer server;
  test::FakeNetwork network;
  std::unique_ptr<Sources> sources;
};

// The heads of requests, in their order.
class Heads {
 public:
  std::function<void(test::Connection&)> answering(std::string answer) {
    return test::answering([this, answer = std::move(answer)](const std::string& head) {
      const std::lock_guard lock(mutex_);
      heads_.push_back(head);
      return answer;
    });
  }
  std::string last() {
    const std::lock_guard lock(mutex_);
    return heads_.empty() ? "" : heads_.back();
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return heads_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> heads_;
};

std::string kind_of(const Fetched<Original>& original) {
  return original ? "fetched" : std::string(to_string(original.error().kind));
}

std::string refusal_of(int status, const std::string& code) {
  const std::string body = "<Error><Code>" + code + "</Code><Message>no</Message></Error>";
  return fmt::format("HTTP/1.1 {} No\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
}

TEST(SourceObjects, AreReadInOneRequestByTheirLiteralKey) {
  Heads heads;
  ObjectOrigin origin(heads.answering(
      test::ok(kPicture,
               "ETag: \"e1\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
               "Content-Type: image/jpeg\r\nCache-Control: max-age=7\r\nExpires: later\r\n")));
  const auto original = origin.fetch("S3://photos/a b#%2f.jpg");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(test::text(*original), kPicture);
  EXPECT_EQ(original->etag, "\"e1\"");
  EXPECT_EQ(original->last_modified, "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(original->content_type, "image/jpeg");
  EXPECT_EQ(original->cache_control, "max-age=7");
  EXPECT_EQ(original->expires, "later");
  EXPECT_EQ(original->url, "s3://photos/a b#%2f.jpg");
  EXPECT_EQ(heads.count(), 1U);
  EXPECT_TRUE(heads.last().starts_with("GET /photos/a%20b%23%252f.jpg HTTP/1.1\r\n"))
      << heads.last();
  EXPECT_NE(heads.last().find("AWS4-HMAC-SHA256 Credential=AKTEST/"), std::string::npos);
  EXPECT_EQ(heads.last().find("SECRETTEST"), std::string::npos);
  // The store is no origin: its address is the operator's word, and is not judged.
  EXPECT_TRUE(origin.network.dialled().empty());
  EXPECT_EQ(origin.network.lookups(), 0U);
}

TEST(SourceObjects, VersionsStandBehindTheSeparator) {
  Heads heads;
  ObjectOrigin origin(heads.answering(test::ok(kPicture)));
  const auto original = origin.fetch("s3://photos/a.jpg?v/1");
  ASSERT_TRUE(original);
  EXPECT_EQ(original->url, "s3://photos/a.jpg?v/1");
  EXPECT_TRUE(heads.last().starts_with("GET /photos/a.jpg?versionId=v%2F1 HTTP/1.1\r\n"))
      << heads.last();

  SourceSettings settings;
  settings.objects.version_separator = "";
  ObjectOrigin none(heads.answering(test::ok(kPicture)), settings);
  ASSERT_TRUE(none.fetch("s3://photos/a.jpg?v1"));
  EXPECT_TRUE(heads.last().starts_with("GET /photos/a.jpg%3Fv1 HTTP/1.1\r\n")) << heads.last();
}

TEST(SourceObjects, ConditionsGoOnToTheStore) {
  Heads heads;
  ObjectOrigin origin(heads.answering("HTTP/1.1 304 Not Modified\r\nETag: \"e1\"\r\n\r\n"));
  FetchRequest request;
  request.url = "s3://photos/a.jpg";
  request.if_none_match = "\"e1\"";
  request.if_modified_since = "Sun, 06 Nov 1994 08:49:37 GMT";
  auto original = test::fetch(*origin.sources, request);
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_TRUE(original->not_modified);
  EXPECT_TRUE(original->bytes.empty());
  EXPECT_EQ(original->etag, "\"e1\"");
  EXPECT_NE(heads.last().find("if-none-match: \"e1\"\r\n"), std::string::npos) << heads.last();
  EXPECT_EQ(heads.last().find("if-modified-since"), std::string::npos);

  request.if_none_match.clear();
  original = test::fetch(*origin.sources, request);
  ASSERT_TRUE(original);
  EXPECT_TRUE(original->not_modified);
  EXPECT_NE(heads.last().find("if-modified-since: Sun, 06 Nov"), std::string::npos);

  // Nobody asked: no answer is not modified.
  EXPECT_EQ(kind_of(origin.fetch("s3://photos/a.jpg")), "store");
}

TEST(SourceObjects, RefusalsOfTheStore) {
  struct Refusal {
    int status;
    const char* code;
    const char* kind;
    unsigned origin_status;
  };
  for (const Refusal& row : {Refusal{404, "NoSuchKey", "not_found", 0},
                             Refusal{403, "AccessDenied", "origin_status", 403},
                             Refusal{301, "PermanentRedirect", "store", 0},
                             Refusal{416, "InvalidRange", "origin_status", 416}}) {
    Heads heads;
    ObjectOrigin origin(heads.answering(refusal_of(row.status, row.code)));
    const auto original = origin.fetch("s3://photos/a.jpg");
    EXPECT_EQ(kind_of(original), row.kind) << row.status;
    EXPECT_EQ(original.error().origin_status, row.origin_status);
    EXPECT_NE(original.error().message.find("s3://photos/a.jpg"), std::string::npos);
    EXPECT_EQ(original.error().message.find("SECRETTEST"), std::string::npos);
    EXPECT_EQ(heads.count(), 1U) << row.status;
  }
}

TEST(SourceObjects, AreAskedForAgainWhereTheStoreFails) {
  std::atomic<int> asked = 0;
  ObjectOrigin origin([&](test::Connection& connection) {
    while (!connection.read_head().empty()) {
      const int times = asked++;
      if (times == 0) {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal");
        return;
      }
      if (!connection.send(times == 1 ? refusal_of(503, "SlowDown") : test::ok(kPicture))) return;
    }
  });
  const auto original = origin.fetch("s3://photos/a.jpg");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(test::text(*original), kPicture);
  EXPECT_EQ(asked.load(), 3);
}

TEST(SourceObjects, CompressedOnesAreUnpackedWithinTheBounds) {
  const std::string packed = test::gzip_stored(std::string(3'000, 'x'));
  const std::string answer = test::ok(packed, "Content-Encoding: gzip\r\n");
  Heads heads;
  ObjectOrigin origin(heads.answering(answer));
  const auto original = origin.fetch("s3://photos/a.jpg");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(test::text(*original), std::string(3'000, 'x'));
  FetchRequest request;
  request.url = "s3://photos/a.jpg";
  request.max_bytes = 2'999;
  EXPECT_EQ(kind_of(test::fetch(*origin.sources, request)), "too_large");

  ObjectOrigin other(heads.answering(test::ok(packed, "Content-Encoding: br\r\n")));
  EXPECT_EQ(kind_of(other.fetch("s3://photos/a.jpg")), "content_encoding");
}

/// As of an origin: see SourceOriginAnswersAttack.
TEST(SourceObjectsAttack, AGzipThatIsCutOffIsNoWholeObject) {
  const std::string body = std::string(100'000, 'x') + "end";
  const std::string packed = test::gzip_stored(body);
  Heads heads;
  for (const std::size_t bytes : {packed.size() - 1, packed.size() - 9, packed.size() / 2,
                                  std::size_t{11}, std::size_t{3}, std::size_t{0}}) {
    ObjectOrigin origin(
        heads.answering(test::ok(packed.substr(0, bytes), "Content-Encoding: gzip\r\n")));
    EXPECT_EQ(kind_of(origin.fetch("s3://photos/a.jpg")), "truncated") << bytes;
  }
  ObjectOrigin none(heads.answering(test::ok(kPicture, "Content-Encoding: gzip\r\n")));
  EXPECT_EQ(kind_of(none.fetch("s3://photos/a.jpg")), "bad_answer");
  for (const char* coding : {"gzip", "x-gzip", "GZIP"}) {
    ObjectOrigin whole(heads.answering(
        test::ok(packed + packed, "Content-Encoding: " + std::string(coding) + "\r\n")));
    const auto original = whole.fetch("s3://photos/a.jpg");
    ASSERT_TRUE(original) << coding << ": " << original.error().message;
    EXPECT_EQ(test::text(*original), body + body) << coding;
  }
}

// The loops serve all objects. While some unpack to much, others come.
TEST(SourceObjectsAttack, GzipThatUnpacksToMuchGoesOnByTurns) {
  constexpr int kBombs = 8;  // as many as there are loops, or more
  constexpr int kMembers = 30;
  constexpr std::size_t kMemberBytes = 300'000;
  std::string packed;
  for (int i = 0; i < kMembers; ++i) packed += test::gzip_bomb();
  ObjectOrigin origin(test::answering([&](const std::string& head) {
    return head.find("/bomb") == std::string::npos ? test::ok(kPicture)
                                                   : test::ok(packed, "Content-Encoding: gzip\r\n");
  }));
  std::atomic<bool> other_came = false;
  std::array<std::atomic<std::size_t>, kBombs> unpacked{};
  std::array<std::promise<Fetched<Original>>, kBombs> came;
  for (std::size_t i = 0; i < kBombs; ++i) {
    FetchRequest bomb;
    bomb.url = "s3://photos/bomb";
    bomb.may_hold = [&, i](std::size_t, std::size_t arrived_bytes) {
      unpacked.at(i) = arrived_bytes;
      if (!other_came) std::this_thread::sleep_for(10ms);
      return true;
    };
    ASSERT_TRUE(origin.sources->fetch(std::move(bomb), [&, i](Fetched<Original> result) {
      came.at(i).set_value(std::move(result));
    }));
  }
  const auto begun = [&] {
    return std::ranges::count_if(unpacked, [](const auto& bytes) { return bytes != 0; });
  };
  while (begun() < 2) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(origin.fetch("s3://photos/a.jpg"));
  const auto whole = std::ranges::count_if(
      unpacked, [](const auto& bytes) { return bytes == kMembers * kMemberBytes; });
  other_came = true;
  EXPECT_EQ(whole, 0) << "the other one waited for all of it";
  for (auto& promise : came) {
    const auto original = promise.get_future().get();
    ASSERT_TRUE(original) << original.error().message;
    EXPECT_EQ(original->bytes.size(), kMembers * kMemberBytes);
    EXPECT_EQ(test::text(*original).find_first_not_of('\0'), std::string::npos);
  }
}

// What goes wrong in a later turn ends the transfer as it would have in the first.
TEST(SourceObjectsAttack, GzipThatIsRefusedInALaterTurnEndsAtOnce) {
  std::string packed;
  for (int i = 0; i < 20; ++i) packed += test::gzip_bomb();
  SourceSettings settings;
  settings.max_bytes = 2'000'000;
  settings.download_timeout = 60s;
  ObjectOrigin origin(
      [&](test::Connection& connection) {
        if (connection.read_head().empty()) return;
        connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
                        std::to_string(packed.size() + 1) + "\r\n\r\n" + packed);
        connection.stall(60'000);
      },
      settings);
  EXPECT_EQ(kind_of(origin.fetch("s3://photos/a.jpg")), "too_large");
  // One that is cut off in the middle of a turn is asked for again, and begins anew.
  std::atomic<int> asked = 0;
  ObjectOrigin cut([&](test::Connection& connection) {
    while (!connection.read_head().empty()) {
      const std::string answer = test::ok(packed, "Content-Encoding: gzip\r\n");
      if (asked++ == 0) {
        (void)connection.send(answer.substr(0, answer.size() - 10));
        return;
      }
      if (!connection.send(answer)) return;
    }
  });
  const auto original = cut.fetch("s3://photos/a.jpg");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(original->bytes.size(), 6'000'000U);
  EXPECT_EQ(asked.load(), 2);
}

// Where the turns end does not show in what comes of it.
TEST(SourceObjectsAttack, GzipIsWholeWhereverATurnEnds) {
  std::string body;
  for (std::uint32_t i = 0; i < 100'000; ++i) body += std::to_string(i * 2'654'435'761U);
  const std::string packed = test::gzip_stored(body) + test::gzip_bomb() + test::gzip_stored(body);
  ObjectOrigin origin(test::answering(
      [&](const std::string&) { return test::ok(packed, "Content-Encoding: gzip\r\n"); }));
  const auto original = origin.fetch("s3://photos/a.jpg");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_TRUE(test::text(*original) == body + std::string(300'000, '\0') + body);
}

TEST(SourceObjectsAttack, OnlyWhatTheSettingsAllowIsAskedFor) {
  Heads heads;
  SourceSettings settings;
  settings.remote = true;
  settings.objects.allowed_buckets = {"pub", "pub-old"};
  settings.objects.denied_buckets = {"pub-old"};
  settings.allowed_sources = {"s3://pub/photos/", "s3://pub-old/", "s3://other/"};
  ObjectOrigin origin(heads.answering(test::ok(kPicture)), settings);
  for (const char* url : {"s3://pub-old/a.jpg", "s3://other/a.jpg", "s3://PUB/photos/a.jpg",
                          "s3://pub/private/a.jpg", "s3://pub.evil/photos/a.jpg"}) {
    EXPECT_EQ(kind_of(origin.fetch(url)), "source_not_allowed") << url;
  }
  EXPECT_EQ(heads.count(), 0U);
  EXPECT_TRUE(origin.fetch("s3://pub/photos/a.jpg"));

  test::FakeNetwork network(origin.server.port());
  auto off = Sources::make(SourceSettings{}, network.network());
  ASSERT_TRUE(off);
  EXPECT_EQ(kind_of(test::fetch(*off, "s3://pub/photos/a.jpg")), "scheme_not_allowed");
  EXPECT_EQ(heads.count(), 1U);
}

TEST(SourceObjectsAttack, SizesAreBoundedBeforeMemoryIsTaken) {
  SourceSettings settings;
  settings.max_bytes = 1'000;
  settings.max_bytes_under_way = 1'000;
  std::atomic<int> allocated = 0;
  settings.allocate = [&](std::size_t) -> Result<InputSlice> {
    ++allocated;
    return fail(StatusCode::kBusy, "none");
  };
  ObjectOrigin large(
      [](test::Connection& connection) {
        if (connection.read_head().empty()) return;
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n");
        connection.stall(10'000);
      },
      settings);
  EXPECT_EQ(kind_of(large.fetch("s3://photos/a.jpg")), "too_large");
  EXPECT_EQ(allocated.load(), 0);
  Heads heads;
  ObjectOrigin small(heads.answering(test::ok(std::string(1'000, 'x'))), settings);
  EXPECT_EQ(kind_of(small.fetch("s3://photos/a.jpg")), "busy");
  EXPECT_EQ(allocated.load(), 1);
  // Without a length nobody knows what would come.
  ObjectOrigin endless(heads.answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                       "1\r\nx\r\n0\r\n\r\n"),
                       settings);
  EXPECT_EQ(kind_of(endless.fetch("s3://photos/a.jpg")), "store");
}

TEST(SourceObjectsAttack, ASilentStoreHoldsNobody) {
  SourceSettings settings;
  settings.objects.in_flight = 1;
  std::atomic<int> asked = 0;
  ObjectOrigin origin(
      [&](test::Connection& connection) {
        if (connection.read_head().empty()) return;
        ++asked;
        connection.stall(30'000);
      },
      settings);
  const auto wait_until_asked_again = [&](int before) {
    while (asked.load() == before) std::this_thread::sleep_for(1ms);
  };
  FetchRequest request;
  request.url = "s3://photos/a.jpg";
  request.timeout = 300ms;
  auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(kind_of(test::fetch(*origin.sources, request)), "timeout");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s) << "attempts of three seconds each";

  request.timeout = 20s;
  std::stop_source stop;
  request.stop = stop.get_token();
  std::promise<Fetched<Original>> promise;
  auto answer = promise.get_future();
  int before = asked;
  ASSERT_TRUE(origin.sources->fetch(
      request, [&](Fetched<Original> got) { promise.set_value(std::move(got)); }));
  EXPECT_EQ(kind_of(origin.fetch("s3://photos/b.jpg")), "busy");
  wait_until_asked_again(before);
  begun = std::chrono::steady_clock::now();
  stop.request_stop();
  EXPECT_EQ(kind_of(answer.get()), "cancelled");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);

  request.stop = {};
  std::promise<Fetched<Original>> last;
  auto closed = last.get_future();
  before = asked;
  ASSERT_TRUE(origin.sources->fetch(
      request, [&](Fetched<Original> got) { last.set_value(std::move(got)); }));
  wait_until_asked_again(before);
  origin.sources->close();
  EXPECT_EQ(kind_of(closed.get()), "cancelled");
}

TEST(SourceObjects, SettingsThatCannotBeStopTheStart) {
  const auto outcome = [](const std::function<void(SourceSettings&)>& change,
                          store::EnvironmentLookup environment = test::store_keys()) {
    SourceSettings settings;
    settings.objects.on = true;
    change(settings);
    Network network;
    network.environment = std::move(environment);
    const auto made = Sources::make(std::move(settings), std::move(network));
    return made ? std::string("made") : std::string(to_string(made.error().code()));
  };
  EXPECT_EQ(outcome([](SourceSettings&) {}), "made");
  EXPECT_EQ(outcome([](SourceSettings& s) { s.objects.allowed_buckets = {"a/b"}; }),
            "invalid_input");
  EXPECT_EQ(outcome([](SourceSettings& s) { s.objects.denied_buckets = {"x"}; }), "invalid_input");
  EXPECT_EQ(outcome([](SourceSettings& s) { s.objects.store.endpoint = "ftp://store/"; }),
            "invalid_input");
  EXPECT_EQ(outcome([](SourceSettings& s) { s.objects.store.region = "a/b"; }), "invalid_input");
  EXPECT_EQ(outcome([](SourceSettings& s) { s.objects.in_flight = 0; }), "invalid_input");
  const auto no_keys = [](const char* name) -> std::optional<std::string> {
    const bool metadata = std::string_view(name) == "AWS_EC2_METADATA_DISABLED";
    return metadata ? std::optional<std::string>("true") : std::nullopt;
  };
  EXPECT_EQ(outcome([](SourceSettings&) {}, no_keys), "denied");
}

}  // namespace
}  // namespace framewire::service::source
