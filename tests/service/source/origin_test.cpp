// Origins that do what they should, over loopback.
#include <gtest/gtest.h>
#include <ctime>
#include <service/source/file_reader.hpp>
#include <store/text.hpp>
#include <tests/service/support/gzip.hpp>
#include <tests/service/support/origin.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>

namespace framewire::service::source {
namespace {

using test::answering;
using test::ok;
using test::Origin;
using test::remote;

TEST(Origin, BytesAndWhatTheOriginSaysOfThem) {
  std::string seen;
  Origin origin(answering([&](const std::string& head) {
    seen = head;
    return ok("bytes",
              "ETag: W/\"x\"\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n"
              "Content-Type: image/jpeg\r\nCache-Control: max-age=60\r\nExpires: 0\r\n");
  }));
  const auto original = origin.fetch("http://images.test/a b.jpg?c#d");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(test::text(*original), "bytes");
  EXPECT_EQ(original->etag, "W/\"x\"");
  EXPECT_EQ(original->last_modified, "Wed, 21 Oct 2015 07:28:00 GMT");
  EXPECT_EQ(original->content_type, "image/jpeg");
  EXPECT_EQ(original->cache_control, "max-age=60");
  EXPECT_EQ(original->expires, "0");
  EXPECT_EQ(original->url, "http://images.test/a%20b.jpg?c");
  EXPECT_EQ(seen.substr(0, seen.find('\r')), "GET /a%20b.jpg?c HTTP/1.1");
  EXPECT_NE(seen.find("\r\nHost: images.test\r\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("\r\nUser-Agent: framewire\r\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("\r\nAccept-Encoding: identity\r\n"), std::string::npos) << seen;
  for (const char* never : {"Cookie", "Authorization", "Referer", "Proxy", "If-"}) {
    EXPECT_EQ(seen.find(never), std::string::npos) << seen;
  }
}

TEST(Origin, ExpiresCountsFromTheOriginsOwnDate) {
  const auto moment = [](std::time_t seconds) { return http_date(std::time(nullptr) + seconds); };
  for (const std::time_t off : {-7'200, 0, 7'200}) {
    Origin origin(answering([&](const std::string&) {
      return ok("bytes",
                "Date: " + moment(off) + "\r\nExpires: " + moment(off + 600) + "\r\nAge: 100\r\n");
    }));
    const auto original = origin.fetch("http://images.test/a.jpg");
    ASSERT_TRUE(original) << original.error().message;
    const auto expires = store::parse_http_date(original->expires);
    ASSERT_TRUE(expires) << original->expires;
    const auto left_s = expires->time_since_epoch().count() - std::time(nullptr);
    EXPECT_GE(left_s, 490) << off;
    EXPECT_LE(left_s, 501) << off;
  }
}

TEST(Origin, GzipThatNobodyAskedForIsUnpacked) {
  std::string body;
  for (int i = 0; i < 50'000; ++i) body += std::to_string(i);
  const std::string packed = test::gzip_stored(body);
  for (const char* coding : {"gzip", "x-gzip", "GZIP"}) {
    Origin origin(answering([&](const std::string&) {
      return ok(packed, std::string("Content-Encoding: ") + coding + "\r\n");
    }));
    const auto original = origin.fetch("http://images.test/a.jpg");
    ASSERT_TRUE(original) << coding << ": " << original.error().message;
    EXPECT_EQ(test::text(*original), body) << coding;
  }
}

TEST(Origin, GzipOfSeveralMembersIsOneBody) {
  const std::string packed = test::gzip_stored("first ") + test::gzip_stored("second");
  Origin origin(
      answering([&](const std::string&) { return ok(packed, "Content-Encoding: gzip\r\n"); }));
  const auto original = origin.fetch("http://images.test/a.jpg");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(test::text(*original), "first second");
}

TEST(Origin, BodiesWithoutALength) {
  std::string body;
  for (int i = 0; i < 300'000; ++i) body += std::to_string(i);
  Origin origin([&](test::Connection& connection) {
    const std::string head = connection.read_head();
    if (head.find("/chunked") != std::string::npos) {
      std::string sent = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
      for (std::size_t at = 0, step = 1; at < body.size(); at += step, step = step * 2 % 99'991) {
        const std::string part = body.substr(at, step);
        char size[20];
        (void)std::snprintf(size, sizeof size, "%zx\r\n", part.size());
        sent += size + part + "\r\n";
      }
      connection.send(sent + "0\r\nX-Trailer: 1\r\n\r\n");
    } else {
      connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body);
    }
  });
  for (const char* url : {"http://images.test/chunked", "http://images.test/closed"}) {
    const auto original = origin.fetch(url);
    ASSERT_TRUE(original) << original.error().message;
    EXPECT_EQ(test::text(*original), body) << url;
  }
}

TEST(Origin, ConnectionsAreKeptForTheNextFetch) {
  Origin origin(answering([](const std::string&) { return ok("bytes"); }));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(origin.fetch("http://images.test/a"));
  EXPECT_EQ(origin.server.connections(), 1);
}

TEST(Origin, MemoryComesFromTheCaller) {
  SourceSettings settings = remote();
  std::vector<std::size_t> asked;
  settings.allocate = [&](std::size_t bytes) -> Result<InputSlice> {
    asked.push_back(bytes);
    auto memory = std::make_shared<std::vector<std::uint8_t>>(bytes);
    return InputSlice{*memory, memory};
  };
  Origin origin(
      answering([](const std::string& head) {
        return head.find("/chunked") != std::string::npos
                   ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
                   : ok("bytes");
      }),
      settings);
  EXPECT_EQ(test::text(origin.fetch("http://images.test/a").value()), "bytes");
  EXPECT_EQ(test::text(origin.fetch("http://images.test/chunked").value()), "abc");
  EXPECT_EQ(asked, (std::vector<std::size_t>{5, 3}));
}

// An origin that makes originals when it is asked says nothing meanwhile.
TEST(Origin, MayBeSilentWhereItIsGivenTheTime) {
  SourceSettings settings = remote();
  settings.download_timeout = std::chrono::seconds(60);
  Origin origin(answering([&](const std::string&) {
                  std::this_thread::sleep_for(std::chrono::milliseconds(4'500));
                  return ok("bytes");
                }),
                settings);
  const auto original = origin.fetch("http://images.test/a.jpg");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(test::text(*original), "bytes");
}

TEST(Origin, ConditionsAreHandedOn) {
  std::string seen;
  Origin origin(answering([&](const std::string& head) {
    seen = head;
    return "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 5\r\n\r\n";
  }));
  FetchRequest request;
  request.url = "http://images.test/a";
  request.if_none_match = "\"x\"";
  request.if_modified_since = "Wed, 21 Oct 2015 07:28:00 GMT";
  auto original = test::fetch(*origin.sources, request);
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_TRUE(original->not_modified);
  EXPECT_TRUE(original->bytes.empty());
  EXPECT_EQ(original->etag, "\"x\"");
  EXPECT_NE(seen.find("\r\nIf-None-Match: \"x\"\r\n"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("If-Modified-Since"), std::string::npos) << seen;
  request.if_none_match.clear();
  EXPECT_TRUE(test::fetch(*origin.sources, request)->not_modified);
  EXPECT_NE(seen.find("\r\nIf-Modified-Since: Wed, 21 Oct 2015 07:28:00 GMT\r\n"),
            std::string::npos)
      << seen;
  // Nobody asked: a 304 means nothing.
  request.if_modified_since = "a\r\nX-Evil: 1";
  original = test::fetch(*origin.sources, request);
  ASSERT_FALSE(original);
  EXPECT_EQ(original.error().origin_status, 304U);
  EXPECT_EQ(seen.find("X-Evil"), std::string::npos) << seen;
}

TEST(Origin, RedirectsAreFollowed) {
  std::vector<std::string> hosts;
  Origin origin(answering([&](const std::string& head) {
    const std::size_t host = head.find("Host: ") + 6;
    hosts.push_back(head.substr(host, head.find('\r', host) - host));
    if (head.starts_with("GET /1 ")) return test::status(301, "Location: /2\r\n");
    if (head.starts_with("GET /2 ")) {
      return test::status(307, "Location: http://other.test:81/3?x\r\n");
    }
    if (head.starts_with("GET /3?x ")) return test::status(308, "Location: 4\r\n");
    return ok("bytes");
  }));
  const auto original = origin.fetch("http://images.test/1");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(original->url, "http://other.test:81/4");
  EXPECT_EQ(original->redirects, 3U);
  EXPECT_EQ(hosts, (std::vector<std::string>{"images.test", "images.test", "other.test:81",
                                             "other.test:81"}));
}

TEST(Origin, WholePartialContentIsTaken) {
  Origin origin(answering([](const std::string& head) -> std::string {
    if (head.find("/whole") != std::string::npos) {
      return "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/5\r\nContent-Length: 5"
             "\r\n\r\nbytes";
    }
    return "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\nContent-Length: 5"
           "\r\n\r\nbytes";
  }));
  EXPECT_TRUE(origin.fetch("http://images.test/whole"));
  EXPECT_EQ(origin.fetch("http://images.test/part").error().origin_status, 206U);
}

TEST(Origin, OtherAnswersKeepTheirNumber) {
  Origin origin(answering([](const std::string& head) {
    const int code = std::stoi(head.substr(head.find('/') + 1));
    return test::status(code);
  }));
  for (const unsigned code : {201U, 202U, 204U, 300U, 304U, 400U, 401U, 403U, 404U, 410U, 416U,
                              429U, 500U, 502U, 503U, 599U, 999U}) {
    const auto original = origin.fetch("http://images.test/" + std::to_string(code));
    ASSERT_FALSE(original);
    EXPECT_EQ(original.error().kind, FetchErrorKind::kOriginStatus) << code;
    EXPECT_EQ(original.error().origin_status, code);
  }
  EXPECT_EQ(origin.server.connections(), 1);
}

TEST(Origin, WhatIsSwitchedOffIsNotAsked) {
  Origin origin(answering([](const std::string&) { return ok("bytes"); }), SourceSettings{});
  EXPECT_EQ(origin.fetch("http://images.test/a").error().kind, FetchErrorKind::kSchemeNotAllowed);
  EXPECT_EQ(origin.fetch("local:///a").error().kind, FetchErrorKind::kSchemeNotAllowed);
  EXPECT_EQ(origin.fetch("a.jpg").error().kind, FetchErrorKind::kSchemeNotAllowed);
  EXPECT_EQ(origin.server.connections(), 0);
  EXPECT_EQ(origin.network.lookups(), 0U);
}

TEST(Origin, FilesAndOriginsSideBySide) {
  test::TemporaryFolder folder;
  folder.write("photos/a.jpg", "file");
  SourceSettings settings = remote();
  settings.root = folder.path().string();
  Origin origin(answering([](const std::string&) { return ok("origin"); }), settings);
  EXPECT_EQ(test::text(origin.fetch("photos/a.jpg").value()), "file");
  EXPECT_EQ(test::text(origin.fetch("local:///photos/a.jpg").value()), "file");
  EXPECT_EQ(test::text(origin.fetch("http://images.test/photos/a.jpg").value()), "origin");
  EXPECT_EQ(origin.fetch("photos/b.jpg").error().kind, FetchErrorKind::kNotFound);
}

TEST(Origin, AddressesInPlaceOfNames) {
  Origin origin(answering([](const std::string& head) {
    const std::size_t host = head.find("Host: ") + 6;
    return ok(head.substr(host, head.find('\r', host) - host));
  }));
  EXPECT_EQ(test::text(origin.fetch("http://93.184.215.14:81/a").value()), "93.184.215.14:81");
  EXPECT_EQ(test::text(origin.fetch("http://[2606:4700::1111]/a").value()), "[2606:4700::1111]");
  EXPECT_EQ(origin.network.lookups(), 0U);
  EXPECT_EQ(to_string(origin.network.dialled().back()), "2606:4700::1111");
}

TEST(Origin, ManyFetchesFromManyThreads) {
  SourceSettings settings = remote();
  settings.connections_per_origin = 4;
  settings.waiting = 4'000;
  Origin origin(
      answering([](const std::string& head) { return ok(head.substr(0, head.find('\r'))); }),
      settings);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::future<bool>> answers;
      for (int i = 0; i < 200; ++i) {
        const std::string path = "/" + std::to_string(t) + "/" + std::to_string(i);
        auto promise = std::make_shared<std::promise<bool>>();
        answers.push_back(promise->get_future());
        FetchRequest request;
        request.url = (i % 2 != 0 ? "http://images.test" : "http://other.test") + path;
        ASSERT_TRUE(origin.sources->fetch(request, [promise, path](const auto& original) {
          promise->set_value(original && test::text(*original) == "GET " + path + " HTTP/1.1");
        }));
      }
      for (auto& answer : answers) right += answer.get() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right.load(), 800);
  EXPECT_LE(origin.server.connections(), 8) << "four connections an origin";
}

TEST(Origin, SettingsAreChecked) {
  const auto refused = [](auto change) {
    SourceSettings settings;
    change(settings);
    const auto made = Sources::make(std::move(settings));
    return made ? std::string() : made.error().subject();
  };
  EXPECT_EQ(refused([](SourceSettings& s) { s.max_bytes = 0; }), "max_bytes");
  EXPECT_EQ(refused([](SourceSettings& s) { s.max_bytes_under_way = 1; }), "max_bytes_under_way");
  EXPECT_EQ(refused([](SourceSettings& s) { s.dial_timeout = std::chrono::milliseconds(0); }),
            "timeout");
  EXPECT_EQ(refused([](SourceSettings& s) { s.connections = 0; }), "connections");
  EXPECT_EQ(refused([](SourceSettings& s) { s.user_agent = "a\r\nb"; }), "user_agent");
  EXPECT_EQ(refused([](SourceSettings& s) { s.allowed_sources = {"nothing"}; }), "nothing");
  EXPECT_EQ(refused([](SourceSettings& s) { s.root = "/no/such/folder"; }), "/no/such/folder");
}

}  // namespace
}  // namespace framewire::service::source
