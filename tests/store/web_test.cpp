// Files of web servers: found, read in ranges or whole, and what servers do wrong.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <store/s3/web_place.hpp>
#include <store/s3/web_store.hpp>
#include <tests/service/support/gzip.hpp>
#include <tests/store/opened_store.hpp>
#include <tests/store/scripted_server.hpp>

namespace framewire::store {
namespace {

using namespace framewire::test;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kKey = "d/a%20b.tar?sig=SECRETTEST";

// An answer to HEAD.
Scripted head_of(std::size_t bytes, const std::string& more = "ETag: \"e\"\r\n") {
  return {fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{}\r\n", bytes, more), ""};
}

class Web : public testing::Test {
 protected:
  using Script = std::function<Scripted(const Asked&)>;
  void serve(Script script) {
    server_ =
        std::make_unique<ScriptedServer>([this, script = std::move(script)](const Asked& asked) {
          for (const auto& [name, value] : asked.headers) {
            EXPECT_THAT(name, Not(HasSubstr("x-amz")));
            EXPECT_NE(name, "authorization");
          }
          return script(asked);
        });
    auto opened = s3::open_web_store(server_->url(), {}, short_times());
    ASSERT_TRUE(opened) << opened.error().to_string();
    store_ = *opened;
  }
  // As servers that do all of it.
  [[nodiscard]] Scripted good(const Asked& asked) const {
    return asked.method == "HEAD" ? head_of(file_.size()) : reply_range(asked, file_);
  }
  Result<std::size_t> find_and_read() {
    const auto found = store_->find(kKey);
    if (!found) return fail(found.error());
    if (!*found) return fail(StatusCode::kInternal, "is not there");
    got_.assign(static_cast<std::size_t>((*found)->bytes), 0);
    return store_->read_at(**found, 0, got_);
  }
  template <typename T>
  void expect_error(const Result<T>& result, StatusCode code, const std::string& text) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), code) << result.error().to_string();
    EXPECT_THAT(result.error().to_string(), HasSubstr(text));
    EXPECT_EQ(result.error().subject(), server_->url() + "/d/a%20b.tar");
    EXPECT_THAT(result.error().to_string(), Not(HasSubstr("SECRETTEST")));
  }
  [[nodiscard]] bool is_file() const { return std::string(got_.begin(), got_.end()) == file_; }

  const std::string file_ = pattern(300'000);
  std::unique_ptr<ScriptedServer> server_;
  std::shared_ptr<ObjectStore> store_;
  std::vector<std::uint8_t> got_;
};

TEST_F(Web, FilesAreReadInRangesByTheAddressAsItIsWritten) {
  serve([&](const Asked& asked) {
    EXPECT_EQ(asked.target, "/d/a%20b.tar?sig=SECRETTEST");
    EXPECT_EQ(asked.headers.at("accept-encoding"), "identity");
    if (asked.method == "GET") {
      EXPECT_EQ(asked.headers.at("if-match"), "\"e\"");
    }
    return good(asked);
  });
  const auto found = store_->find(kKey);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->bytes, file_.size());
  EXPECT_EQ((*found)->etag, "e");
  ASSERT_TRUE(find_and_read());
  EXPECT_TRUE(is_file());
  std::vector<std::uint8_t> some(1000);
  const auto got = store_->read_at(**found, 1234, some);
  ASSERT_TRUE(got);
  EXPECT_EQ(std::string(some.begin(), some.end()), file_.substr(1234, 1000));
  EXPECT_EQ(store_->label(kKey), server_->url() + "/d/a%20b.tar");
}

TEST_F(Web, WhereHeadIsRefusedOneByteIsAskedFor) {
  for (const unsigned status : {400U, 403U, 405U, 501U}) {
    serve([&](const Asked& asked) { return asked.method == "HEAD" ? reply(status) : good(asked); });
    ASSERT_TRUE(find_and_read()) << status;
    EXPECT_TRUE(is_file());
  }
  // Refused altogether.
  serve([&](const Asked&) { return reply(403, "no"); });
  expect_error(store_->find(kKey), StatusCode::kDenied, "the server answered 403");
  // Without a length.
  serve([&](const Asked& asked) {
    if (asked.method == "HEAD") return Scripted{"HTTP/1.1 200 OK\r\n\r\n", ""};
    return good(asked);
  });
  EXPECT_TRUE(find_and_read());
}

TEST_F(Web, WhatIsNotThereIsNothing) {
  serve([&](const Asked&) { return reply(404); });
  const auto found = store_->find(kKey);
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
  const auto whole = store_->read_whole(kKey, 1000);
  ASSERT_TRUE(whole);
  EXPECT_FALSE(*whole);
}

TEST_F(Web, AServerWithoutRangesIsRefusedBeforeItSendsAll) {
  serve([&](const Asked& asked) {
    return asked.method == "HEAD" ? head_of(file_.size()) : reply(200, file_, {"ETag: \"e\""});
  });
  const auto found = store_->find(kKey);
  ASSERT_TRUE(found && *found);
  std::vector<std::uint8_t> some(1000);
  expect_error(store_->read_at(**found, 5000, some), StatusCode::kUnsupported,
               "sends all of it where a range was asked for");
  expect_error(store_->read_at(**found, 0, some), StatusCode::kUnsupported, "know ranges");
  EXPECT_TRUE(find_and_read()) << "all of it may come so";
  EXPECT_TRUE(is_file());
  const auto whole = store_->read_whole(kKey, 1'000'000);
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ((*whole)->bytes.size(), file_.size());
  // Where HEAD does not tell the length, nothing does.
  serve(
      [&](const Asked& asked) { return asked.method == "HEAD" ? reply(405) : reply(200, file_); });
  expect_error(store_->find(kKey), StatusCode::kUnsupported, "know ranges");
}

TEST_F(Web, LengthsThatAreWrongAreErrors) {
  // HEAD promises more, and less, than there is.
  for (const std::size_t told : {file_.size() + 10, file_.size() - 10}) {
    serve([&](const Asked& asked) {
      return asked.method == "HEAD" ? head_of(told) : reply_range(asked, file_);
    });
    expect_error(find_and_read(), StatusCode::kIoError, "another");
  }
  serve([&](const Asked& asked) {
    if (asked.method == "HEAD") return head_of(file_.size());
    return reply(206, file_.substr(0, 100), {"Content-Range: bytes 7-106/300000", "ETag: \"e\""});
  });
  expect_error(find_and_read(), StatusCode::kIoError, "another range than");
  serve([&](const Asked& asked) {
    return asked.method == "HEAD" ? reply(405) : reply(206, "x", {"Content-Range: bytes 0-0/*"});
  });
  expect_error(store_->find(kKey), StatusCode::kIoError, "does not say how long the whole is");
}

TEST_F(Web, FailuresAreMetAsThoseOfStores) {
  std::atomic<unsigned> count = 0;
  serve([&](const Asked& asked) {
    const unsigned now = count++;
    if (now % 3 == 0) return reply(503, "busy");
    Scripted scripted = good(asked);
    if (asked.method == "GET" && now % 3 == 1) scripted.cut_after = 50'000;
    return scripted;
  });
  ASSERT_TRUE(find_and_read());
  EXPECT_TRUE(is_file());
  serve([&](const Asked&) { return reply(500); });
  expect_error(store_->find(kKey), StatusCode::kIoError, "answered 500");
  EXPECT_EQ(server_->requests(), StoreSettings().attempts);
}

// The server of the fixture redirects to another one.
class WebRedirects : public Web {
 protected:
  void serve_behind(Script script) {
    behind_ = std::make_unique<ScriptedServer>([script = std::move(script)](const Asked& asked) {
      EXPECT_FALSE(asked.headers.contains("authorization"));
      EXPECT_FALSE(asked.headers.contains("cookie"));
      return script(asked);
    });
  }
  // To `path` of the server behind.
  [[nodiscard]] Scripted there(const std::string& path, unsigned status = 302) const {
    return reply(status, "moved", {"Location: " + behind_->url() + path});
  }
  std::unique_ptr<ScriptedServer> behind_;
};

TEST_F(WebRedirects, AllRangesGoToWhereTheLastOneLed) {
  for (const unsigned status : {301U, 302U, 303U, 307U, 308U}) {
    std::atomic<unsigned> moved = 0;
    serve_behind([&](const Asked& asked) {
      if (asked.target == "/step") {
        ++moved;
        return reply(status, "", {"Location: end/../last?sig=SECRETTEST"});
      }
      EXPECT_EQ(asked.target, "/last?sig=SECRETTEST");
      return good(asked);
    });
    serve([&](const Asked& asked) {
      EXPECT_EQ(asked.target, "/d/a%20b.tar?sig=SECRETTEST");
      EXPECT_EQ(asked.method, "HEAD");
      return there("/step", status);
    });
    ASSERT_TRUE(find_and_read()) << status;
    EXPECT_TRUE(is_file());
    const auto found = store_->find(kKey);
    ASSERT_TRUE(found && *found);
    for (std::uint64_t at = 0; at < file_.size(); at += 30'000) {
      std::vector<std::uint8_t> some(30'000);
      ASSERT_TRUE(store_->read_at(**found, at, some));
    }
    EXPECT_EQ(server_->requests(), 2U) << "once for each time that it was looked for";
    EXPECT_EQ(moved.load(), 2U);
  }
}

TEST_F(WebRedirects, AWholeFileIsReadWhereItIs) {
  serve_behind([&](const Asked& asked) { return good(asked); });
  serve([&](const Asked&) { return there("/whole"); });
  const auto whole = store_->read_whole(kKey, file_.size());
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ(std::string((*whole)->bytes.begin(), (*whole)->bytes.end()), file_);
  EXPECT_EQ((*whole)->info.key, kKey);
}

TEST_F(WebRedirects, AnEndedPlaceIsAskedForOnceMore) {
  std::atomic<unsigned> place = 1;
  std::atomic<unsigned> ended = 0;
  serve_behind([&](const Asked& asked) {
    if (asked.target != "/" + std::to_string(place)) {
      ++ended;
      return reply(ended % 2 == 0 ? 404 : 403, "expired");
    }
    return good(asked);
  });
  serve([&](const Asked&) { return there("/" + std::to_string(place)); });
  const auto found = store_->find(kKey);
  ASSERT_TRUE(found && *found);
  for (int i = 0; i < 4; ++i) {
    ++place;  // what was known ends
    for (int k = 0; k < 3; ++k) {
      std::vector<std::uint8_t> some(1000);
      ASSERT_TRUE(store_->read_at(**found, 1000, some));
      EXPECT_EQ(std::string(some.begin(), some.end()), file_.substr(1000, 1000));
    }
  }
  EXPECT_EQ(ended.load(), 4U);
  EXPECT_EQ(server_->requests(), 5U);
  // For good.
  serve_behind(
      [&](const Asked& asked) { return asked.method == "HEAD" ? good(asked) : reply(403); });
  serve([&](const Asked&) { return there("/x?sig=SECRETTEST"); });
  expect_error(find_and_read(), StatusCode::kDenied,
               "the server answered 403 (redirected to " + behind_->url() + "/x)");
  EXPECT_EQ(server_->requests(), 2U);
  EXPECT_EQ(behind_->requests(), 3U);
}

TEST_F(WebRedirects, NothingAtAPlaceIsAnErrorThatNamesIt) {
  serve_behind([&](const Asked&) { return reply(404); });
  serve([&](const Asked&) { return there("/gone?sig=SECRETTEST"); });
  expect_error(store_->find(kKey), StatusCode::kInvalidInput,
               "the server answered 404 (redirected to " + behind_->url() + "/gone)");
  expect_error(store_->read_whole(kKey, 10), StatusCode::kInvalidInput, "/gone)");
  serve_behind([&](const Asked&) { return reply(500); });
  serve([&](const Asked&) { return there("/ill?sig=SECRETTEST"); });
  expect_error(store_->find(kKey), StatusCode::kIoError, behind_->url() + "/ill)");
  EXPECT_EQ(behind_->requests(), StoreSettings().attempts);
  EXPECT_EQ(server_->requests(), 1U) << "who is redirected is no attempt";
}

TEST_F(WebRedirects, AreBoundedInNumberAndTime) {
  std::atomic<unsigned> step = 0;
  serve([&](const Asked&) {
    return reply(302, "", {"Location: /" + std::to_string(++step) + "?sig=SECRETTEST"});
  });
  expect_error(store_->find(kKey), StatusCode::kInvalidInput, "accepted: up to 10 redirects");
  EXPECT_EQ(server_->requests(), 11U);
  const auto told = store_->find(kKey);
  for (unsigned i = 12; i <= 21; ++i) {
    EXPECT_THAT(told.error().to_string(), HasSubstr(fmt::format("{}/{}", server_->url(), i)));
  }

  // Each hop by itself takes less than its time.
  ScriptedServer slow([&](const Asked&) {
    Scripted scripted = reply(302, "", {"Location: /on"});
    scripted.stall_ms = 600;
    return scripted;
  });
  StoreTiming timing = short_times();
  timing.total = std::chrono::milliseconds(2000);
  const auto opened = s3::open_web_store(slow.url(), {}, timing);
  ASSERT_TRUE(opened);
  const auto late = (*opened)->find("a.tar");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), StatusCode::kDeadline) << late.error().to_string();
  EXPECT_THAT(late.error().to_string(), HasSubstr(slow.url() + "/on"));
  EXPECT_LE(slow.requests(), 5U);
}

TEST(WebRedirectsAttack, NoPlaceIsReachedThatCouldNotBeNamed) {
  const auto refused = [](const std::string& from, const std::string& location) {
    const auto place = s3::redirected(from, nullptr, location);
    if (place) return "went to " + place->url;
    EXPECT_EQ(place.error().code(), StatusCode::kInvalidInput);
    EXPECT_THAT(place.error().message(), Not(HasSubstr("SECRETTEST")));
    return place.error().message();
  };
  const std::string from = "https://a.example/d/x.tar?sig=1";
  EXPECT_THAT(refused(from, "http://a.example/x?SECRETTEST"),
              HasSubstr("from https to http://a.example/x; accepted: https://"));
  EXPECT_THAT(refused(from, "HTTP://a.example/x"), HasSubstr("accepted: https://"));
  for (const std::string other : {"file:///etc/passwd", "ftp://a/x", "gopher://a/x", "s3://b/k"}) {
    EXPECT_THAT(refused(from, other), HasSubstr("accepted: http:// and https://")) << other;
  }
  EXPECT_THAT(refused(from, "https://user:SECRETTEST@b.example/x"), HasSubstr("a user in it"));
  EXPECT_THAT(refused(from, "//@b.example/x"), HasSubstr("a user in it"));
  EXPECT_THAT(refused(from, ""), HasSubstr("to no address"));
  EXPECT_THAT(refused(from, "https://b\xFF.example/x"), HasSubstr("names of hosts in ASCII"));
  EXPECT_THAT(refused(from, "https://[::1/x"), HasSubstr("what is no address"));
  EXPECT_THAT(refused(from, '/' + std::string(8'300, ' ')), HasSubstr("accepted: up to 8192"));
  const auto place = [](const std::string& start, const std::string& location) {
    return s3::redirected(start, nullptr, location).value_or(s3::WebPlace{}).url;
  };
  EXPECT_EQ(place(from, "/y?z=%20#part"), "https://a.example/y?z=%20");
  EXPECT_EQ(place(from, "y"), "https://a.example/d/y");
  EXPECT_EQ(place(from, "//b.example:8443/y"), "https://b.example:8443/y");
  EXPECT_EQ(place("http://a.example/x", "https://b.example"), "https://b.example/");
}

TEST_F(WebRedirects, HeadsWithTwoPlacesAreRefused) {
  serve([&](const Asked&) { return reply(302, "", {"Location: /a", "Location: /b"}); });
  expect_error(store_->find(kKey), StatusCode::kIoError, "malformed head");
  serve([&](const Asked&) { return reply(302); });
  expect_error(store_->find(kKey), StatusCode::kInvalidInput, "redirects to no address");
  serve([&](const Asked&) { return reply(302, "", {"Location: /" + std::string(9'000, 'a')}); });
  expect_error(store_->find(kKey), StatusCode::kInvalidInput, "or to one over 8192 bytes");
  EXPECT_EQ(server_->requests(), 1U);
}

TEST_F(Web, WhatChangesIsNotMixed) {
  const std::string before = "Last-Modified: Wed, 25 Nov 2026 10:00:00 GMT";
  const std::string after = "Last-Modified: Wed, 25 Nov 2026 10:00:01 GMT";
  const std::string range =
      fmt::format("Content-Range: bytes 0-{}/{}", file_.size() - 1, file_.size());
  // Weak tags tell nothing of bytes: then the time does.
  serve([&](const Asked& asked) {
    if (asked.method == "HEAD") return head_of(file_.size(), before + "\r\nETag: W/\"w\"\r\n");
    EXPECT_FALSE(asked.headers.contains("if-match"));
    return reply(206, file_, {range, after, "ETag: W/\"w\""});
  });
  expect_error(find_and_read(), StatusCode::kInvalidInput, "changed while it was read");
  serve([&](const Asked& asked) {
    if (asked.method == "HEAD") return head_of(file_.size(), before + "\r\n");
    return reply(206, file_, {range, before});
  });
  EXPECT_TRUE(find_and_read());
  serve([&](const Asked& asked) {
    return asked.method == "HEAD" ? head_of(file_.size()) : reply(412);
  });
  expect_error(find_and_read(), StatusCode::kInvalidInput, "changed while it was read");
  serve([&](const Asked& asked) {
    return asked.method == "HEAD" ? head_of(file_.size())
                                  : reply(206, file_, {range, "ETag: \"other\""});
  });
  expect_error(find_and_read(), StatusCode::kIoError, "another ETag");
}

TEST_F(Web, AWholeFileIsBounded) {
  serve([&](const Asked& asked) {
    EXPECT_EQ(asked.method, "GET");
    EXPECT_FALSE(asked.headers.contains("range"));
    return good(asked);
  });
  const auto whole = store_->read_whole(kKey, file_.size());
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ(std::string((*whole)->bytes.begin(), (*whole)->bytes.end()), file_);
  EXPECT_EQ((*whole)->info.etag, "e");
  expect_error(store_->read_whole(kKey, file_.size() - 1), StatusCode::kTooLarge,
               "accepted: up to 299999");
  serve([&](const Asked&) {
    return Scripted{"HTTP/1.1 200 OK\r\n\r\n", "for ever", SIZE_MAX, true};
  });
  expect_error(store_->read_whole(kKey, 1000), StatusCode::kIoError, "no length");
  std::atomic<unsigned> count = 0;
  serve([&](const Asked& asked) {
    Scripted scripted = good(asked);
    if (count++ < 2) scripted.cut_after = 1000;
    return scripted;
  });
  const auto again = store_->read_whole(kKey, file_.size());
  ASSERT_TRUE(again && *again);
  EXPECT_EQ((*again)->bytes.size(), file_.size()) << "begun again, not joined";
}

/// A length that fits says nothing of what was packed: a list that is cut off would lose its rest.
TEST_F(Web, AWholeFileThatIsSentAsGzipIsUnpackedAndWhole) {
  const std::string packed = service::test::gzip_stored(file_);
  std::string body;
  serve([&](const Asked&) {
    return Scripted{fmt::format("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                                "Content-Length: {}\r\n\r\n",
                                body.size()),
                    body};
  });
  body = packed;
  const auto whole = store_->read_whole(kKey, file_.size());
  ASSERT_TRUE(whole && *whole) << whole.error().to_string();
  EXPECT_EQ(std::string((*whole)->bytes.begin(), (*whole)->bytes.end()), file_);
  body = service::test::gzip_bomb();
  expect_error(store_->read_whole(kKey, 299'999), StatusCode::kTooLarge, "accepted: up to 299999");
  body = packed.substr(0, packed.size() - 1);
  expect_error(store_->read_whole(kKey, file_.size()), StatusCode::kIoError, "gzip does not end");
  body = "no gzip";
  expect_error(store_->read_whole(kKey, file_.size()), StatusCode::kIoError, "is none");
}

TEST_F(Web, NothingIsWrittenOrListed) {
  serve([&](const Asked& asked) { return good(asked); });
  expect_error(store_->list(kKey, "", [](const ObjectInfo&) { return true; }),
               StatusCode::kUnsupported, "can only be read");
  expect_error(store_->put(kKey, {}, PutCondition::kNone), StatusCode::kUnsupported, "");
  expect_error(store_->upload(kKey), StatusCode::kUnsupported, "");
  expect_error(store_->remove(kKey), StatusCode::kUnsupported, "");
  EXPECT_EQ(server_->requests(), 0U);
}

TEST(WebUrls, AreParsedAndRefusedWithoutSecrets) {
  const auto url = parse_object_url("HTTPS://Host.example:8443/A/b.tar?x=y/z");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->bucket, "https://host.example:8443");
  EXPECT_EQ(url->key, "A/b.tar?x=y/z");
  EXPECT_EQ(parse_object_url("http://h")->key, "");
  EXPECT_EQ(without_query("http://h/a.tar?b"), "http://h/a.tar");
  EXPECT_EQ(without_query("in/a.tar?b"), "in/a.tar?b");
  EXPECT_FALSE(is_remote_url("http:/h"));
  EXPECT_FALSE(is_web_url("s3://b/k"));
  for (const std::string text :
       {"http://user:PASSWORD@h/a.tar", "http://h/a.tar#part", "http://h/a b.tar",
        "http://h/a.tar\n", "http://h/\xC3\xA4.tar", "http://h/a.tar?PASSWORD#"}) {
    const auto refused = parse_object_url(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code(), StatusCode::kInvalidInput);
    EXPECT_THAT(refused.error().to_string(), Not(HasSubstr("PASSWORD")));
  }
  EXPECT_FALSE(parse_object_url("http://h/" + std::string(8'200, 'a')));
  for (const std::string origin :
       {"http://", "http://h:0", "http://h:99999", "https://h?x", "http://h/below", "ftp://h"}) {
    EXPECT_FALSE(s3::open_web_store(origin, {}, short_times())) << origin;
  }
}

}  // namespace
}  // namespace framewire::store
