// Ranges read from servers that fail, lie, stall and hang up.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <future>
#include <tests/store/opened_store.hpp>
#include <tests/store/scripted_server.hpp>

namespace framewire::store {
namespace {

using namespace framewire::test;
using testing::HasSubstr;
using testing::Not;

ObjectInfo info(const std::string& object, const std::string& key = "a/b c.tar") {
  return {key, object.size(), "e", 0};
}

// The whole object, by one range, of an answer that a test makes worse.
class Reads : public testing::Test {
 protected:
  Result<std::size_t> read(const std::function<Scripted(const Asked&, unsigned)>& script,
                           const StoreSettings& settings = {},
                           const StoreTiming& timing = short_times()) {
    std::atomic<unsigned> count = 0;
    ScriptedServer server([&](const Asked& asked) { return script(asked, count.fetch_add(1)); });
    got_.assign(object_.size() + 64, 0x5a);
    const auto store = opened(server.url(), settings, timing);
    auto result = store->read_at(info(object_), 0, std::span(got_).first(object_.size()));
    requests_ = server.requests();
    // Whatever the server sends: not a byte behind the caller's span.
    for (std::size_t i = object_.size(); i < got_.size(); ++i) EXPECT_EQ(got_[i], 0x5a);
    return result;
  }
  bool is_object() const {
    return std::equal(object_.begin(), object_.end(), got_.begin(),
                      [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
  }
  void expect_error(const Result<std::size_t>& result, StatusCode code, const char* text) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), code) << result.error().to_string();
    EXPECT_THAT(result.error().to_string(), HasSubstr(text));
    EXPECT_EQ(result.error().subject(), "s3://photos/a/b c.tar");
    EXPECT_THAT(result.error().to_string(), Not(HasSubstr("SECRETTEST")));
  }

  std::string object_ = pattern(1 << 20);
  std::vector<std::uint8_t> got_;
  unsigned requests_ = 0;
};

TEST_F(Reads, SignedByPathWithItsVersion) {
  const auto result = read([&](const Asked& asked, unsigned) {
    EXPECT_EQ(asked.target, "/photos/a/b%20c.tar");
    EXPECT_EQ(asked.headers.at("if-match"), "\"e\"");
    EXPECT_THAT(asked.headers.at("authorization"),
                HasSubstr("SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date"));
    return reply_range(asked, object_);
  });
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(*result, object_.size());
  EXPECT_TRUE(is_object());
}

TEST_F(Reads, FewerBytesOnlyAtTheEnd) {
  ScriptedServer server([&](const Asked& asked) { return reply_range(asked, object_); });
  const auto store = opened(server.url());
  std::vector<std::uint8_t> into(1'000);
  const auto end = store->read_at(info(object_), object_.size() - 10, into);
  ASSERT_TRUE(end) << end.error().to_string();
  EXPECT_EQ(*end, 10U);
  EXPECT_EQ(into[9], static_cast<std::uint8_t>(object_.back()));
  EXPECT_EQ(*store->read_at(info(object_), object_.size(), into), 0U);
  EXPECT_EQ(server.requests(), 1U);
}

TEST_F(Reads, ServersThatAreBusyAreAskedAgain) {
  for (const unsigned status : {500U, 502U, 503U, 504U, 429U}) {
    const auto result = read([&](const Asked& asked, unsigned count) {
      return count < 3 ? reply(status, "<Error><Code>SlowDown</Code></Error>")
                       : reply_range(asked, object_);
    });
    EXPECT_TRUE(result) << status;
    EXPECT_TRUE(is_object());
    EXPECT_EQ(requests_, 4U);
  }
}

TEST_F(Reads, ServersThatStayBusyAreGivenUp) {
  StoreSettings settings;
  settings.attempts = 3;
  const auto result = read(
      [&](const Asked&, unsigned) {
        return reply(503,
                     "<Error><Code>SlowDown</Code><Message>Please\x1b[31m wait</Message></Error>");
      },
      settings);
  expect_error(result, StatusCode::kBusy, "503 SlowDown: Please[31m wait (attempt 3)");
  EXPECT_EQ(requests_, 3U);
}

TEST_F(Reads, RetryAfterIsHonouredWithinItsBound) {
  const auto began = std::chrono::steady_clock::now();
  const auto result = read([&](const Asked& asked, unsigned count) {
    return count == 0 ? reply(503, "", {"Retry-After: 3600"}) : reply_range(asked, object_);
  });
  ASSERT_TRUE(result);
  const auto waited = std::chrono::steady_clock::now() - began;
  EXPECT_GE(waited, short_times().max_retry_after);
  EXPECT_LT(waited, std::chrono::seconds(45));
}

TEST_F(Reads, WhatMustNotBeRetriedIsNot) {
  for (const auto& [status, code] :
       {std::pair(403U, StatusCode::kDenied), std::pair(404U, StatusCode::kInvalidInput),
        std::pair(412U, StatusCode::kInvalidInput), std::pair(416U, StatusCode::kInvalidInput)}) {
    const auto result = read([&, status = status](const Asked&, unsigned) {
      return reply(status, "<Error><Code>No</Code><Message>no</Message></Error>");
    });
    expect_error(result, code, "No: no");
    EXPECT_EQ(requests_, 1U);
  }
}

TEST_F(Reads, CutBodiesGoOnWhereTheyWereCut) {
  const auto result = read([&](const Asked& asked, unsigned count) {
    Scripted scripted = reply_range(asked, object_);
    if (count < 3) scripted.cut_after = 200'000;
    if (count > 0) {
      EXPECT_THAT(asked.headers.at("range"), Not(HasSubstr("bytes=0-")));
    }
    return scripted;
  });
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_TRUE(is_object());
  EXPECT_EQ(requests_, 4U);
}

TEST_F(Reads, BodiesWithoutALengthThatEndEarlyGoOn) {
  const auto result = read([&](const Asked& asked, unsigned count) {
    Scripted scripted = reply_range(asked, object_);
    if (count > 0) return scripted;
    scripted.head =
        fmt::format("HTTP/1.1 206 x\r\nConnection: close\r\nContent-Range: bytes 0-{}/{}\r\n\r\n",
                    object_.size() - 1, object_.size());
    scripted.cut_after = 1'000;
    return scripted;
  });
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_TRUE(is_object());
}

TEST_F(Reads, ConnectionsThatCloseWithoutAnAnswerAreTriedAgain) {
  const auto result = read([&](const Asked& asked, unsigned count) {
    if (count < 2) return Scripted{"", "x", 0, false, 0, false};
    return reply_range(asked, object_);
  });
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_TRUE(is_object());
}

TEST_F(Reads, ServersThatStallAreGivenUpAndTriedAgain) {
  StoreTiming timing = short_times();
  timing.stalled = std::chrono::seconds(3);
  const auto result = read(
      [&](const Asked& asked, unsigned count) {
        Scripted scripted = reply_range(asked, object_);
        if (count == 0) scripted.stall_ms = 60'000;
        return scripted;
      },
      {}, timing);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(requests_, 2U);
}

TEST_F(Reads, TheDeadlineHolds) {
  StoreTiming timing = short_times();
  timing.total = std::chrono::milliseconds(300);
  object_.resize(1'000);
  const auto began = std::chrono::steady_clock::now();
  const auto result =
      read([&](const Asked&, unsigned) { return Scripted{"", "", SIZE_MAX, false, 60'000, false}; },
           {}, timing);
  expect_error(result, StatusCode::kDeadline, "");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(45));
}

TEST_F(Reads, NobodyThere) {
  StoreSettings settings;
  settings.attempts = 2;
  const auto store = opened("http://127.0.0.1:1", settings);
  got_.resize(object_.size());
  expect_error(store->read_at(info(object_), 0, got_), StatusCode::kIoError, "(attempt 2)");
}

TEST_F(Reads, AClockThatIsWrongIsCorrectedOnce) {
  std::string second_date;
  const auto result = read([&](const Asked& asked, unsigned count) {
    const std::string date = "Date: Fri, 24 May 2013 00:00:00 GMT";
    if (count == 0) {
      return reply(403, "<Error><Code>RequestTimeTooSkewed</Code></Error>", {date});
    }
    second_date = asked.headers.at("x-amz-date");
    return reply_range(asked, object_);
  });
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_THAT(second_date, HasSubstr("20130524T0000"));
  const auto again = read([&](const Asked&, unsigned) {
    return reply(403, "<Error><Code>RequestTimeTooSkewed</Code></Error>",
                 {"Date: Fri, 24 May 2013 00:00:00 GMT"});
  });
  expect_error(again, StatusCode::kDenied, "RequestTimeTooSkewed");
  EXPECT_EQ(requests_, 2U);
}

TEST_F(Reads, AClockThatIsWrongIsSeenWithoutACodeToo) {
  ScriptedServer server([&](const Asked& asked) {
    const std::vector<std::string> headers = {"Date: Fri, 24 May 2013 00:00:00 GMT", "ETag: \"e\"",
                                              "Last-Modified: Fri, 24 May 2013 00:00:00 GMT"};
    const bool right = asked.headers.at("x-amz-date").starts_with("20130524T0000");
    return reply(right ? 200 : 403, "", headers);
  });
  const auto found = opened(server.url())->find("k");
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_TRUE(*found);
  EXPECT_EQ(server.requests(), 2U);
}

// Who prints an error escapes what would move the cursor.
TEST(Finds, ErrorsHaveKeysAsTheyAre) {
  ScriptedServer server([](const Asked&) { return reply(403, ""); });
  const auto found = opened(server.url())->find("a\nb\x01.jpg");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().subject(), "s3://photos/a\nb\x01.jpg");
}

class ReadsAttack : public Reads {};

TEST_F(ReadsAttack, AnswersThatAreNotTheRange) {
  const std::string whole =
      fmt::format("Content-Range: bytes 0-{}/{}", object_.size() - 1, object_.size());
  const std::vector<std::pair<Scripted, const char*>> lies = {
      {reply(206, object_, {"ETag: \"f\"", whole}), "another ETag"},
      {reply(206, object_.substr(1), {whole}), "another length"},
      {reply(206, object_ + "x", {whole}), "another length"},
      {reply(206, object_, {"Content-Range: bytes 1-9/10"}), "another range"},
      {reply(206, object_, {"Content-Range: bytes 0-9/10"}), "another range"},
      {reply(206, object_, {"Content-Range: octets 0-9/10"}), "another range"},
      {reply(206, object_), "another range"},
      {reply(204), "status 204"},
      {reply(200, object_ + "more"), "another length"},
  };
  for (const auto& [lie, text] : lies) {
    expect_error(read([&, lie = lie](const Asked&, unsigned) { return lie; }), StatusCode::kIoError,
                 text);
    EXPECT_EQ(requests_, 1U);
  }
}

TEST_F(ReadsAttack, BodiesWithoutALengthThatDoNotEnd) {
  const auto result = read([&](const Asked&, unsigned) {
    return Scripted{fmt::format("HTTP/1.1 206 x\r\nContent-Range: bytes 0-{}/{}\r\n\r\n",
                                object_.size() - 1, object_.size()),
                    object_,
                    SIZE_MAX,
                    true,
                    0,
                    false};
  });
  // All that was asked for may have come before it is seen that more follows.
  if (result) {
    EXPECT_TRUE(is_object());
  } else {
    expect_error(result, StatusCode::kIoError, "more bytes than were asked for");
  }
}

TEST_F(ReadsAttack, HeadersThatDoNotEnd) {
  for (const char* head : {"HTTP/1.1 206 x\r\n", "HTTP/1.1 100 x\r\n\r\n", ""}) {
    const auto result = read([&](const Asked&, unsigned) {
      return Scripted{head, "X-Line: of a header that has no end\r\n", SIZE_MAX, true, 0, false};
    });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), StatusCode::kIoError) << result.error().to_string();
  }
}

TEST_F(ReadsAttack, ErrorsThatDoNotEnd) {
  const auto result = read([&](const Asked&, unsigned) {
    return Scripted{"HTTP/1.1 403 x\r\n\r\n", "<Error><Code>Evil</Code>", SIZE_MAX, true, 0, false};
  });
  expect_error(result, StatusCode::kDenied, "403");
}

TEST_F(ReadsAttack, RedirectsAreNotFollowed) {
  ScriptedServer elsewhere([](const Asked&) { return reply(200, "stolen"); });
  const auto result = read([&](const Asked&, unsigned) {
    return reply(301, "", {"Location: " + elsewhere.url() + "/", "x-amz-bucket-region: eu-west-3"});
  });
  expect_error(result, StatusCode::kInvalidInput, "the bucket is in region eu-west-3");
  EXPECT_EQ(elsewhere.requests(), 0U);
}

TEST_F(ReadsAttack, ATokenAddsNoHeaderOfItsOwn) {
  auto keys = test_keys();
  keys["AWS_SESSION_TOKEN"] = "TOKEN\r\nX-Evil: 1";
  ScriptedServer server([](const Asked&) { return reply(200, "x"); });
  std::vector<std::uint8_t> into(object_.size());
  const auto found = opened(server.url(), {}, short_times(), keys)->read_at(info(object_), 0, into);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), StatusCode::kInvalidInput);
  EXPECT_THAT(found.error().to_string(),
              AllOf(HasSubstr("x-amz-security-token"), Not(HasSubstr("TOKEN"))));
  EXPECT_EQ(server.requests(), 0U);
}

TEST_F(ReadsAttack, WhatTheServerRepeatsOfARequestIsNotShown) {
  auto keys = test_keys();
  keys["AWS_SESSION_TOKEN"] = "IQoJb3JpZ2luX2VjSESSIONTEST/+=1234567890";
  std::string signature;
  std::string told;
  for (const char* element : {"Code", "Message", "Region"}) {
    for (const std::size_t from : {0U, 9U}) {
      for (const bool token : {false, true}) {
        ScriptedServer server([&](const Asked& asked) {
          const std::string& line = asked.headers.at("authorization");
          signature = line.substr(line.rfind('=') + 1);
          const std::string& secret = token ? asked.headers.at("x-amz-security-token") : signature;
          return reply(
              400, fmt::format("<Error><{0}>no: {1}</{0}></Error>", element, secret.substr(from)));
        });
        std::vector<std::uint8_t> into(object_.size());
        const auto got =
            opened(server.url(), {}, short_times(), keys)->read_at(info(object_), 0, into);
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error().code(), StatusCode::kInvalidInput);
        EXPECT_THAT(got.error().to_string(), HasSubstr("not shown")) << element;
        EXPECT_THAT(got.error().to_string(), Not(HasSubstr(signature.substr(20, 20))));
        EXPECT_THAT(got.error().to_string(), Not(HasSubstr("SESSIONTEST")));
      }
    }
  }
}

// A head is refused whatever of it has no end.
TEST_F(ReadsAttack, ALineThatDoesNotEndIsAHeadThatIsTooLong) {
  const auto result = read([&](const Asked&, unsigned) {
    return Scripted{"HTTP/1.1 206 x\r\nX-Line: ", std::string(4096, 'y'), SIZE_MAX, true, 0, false};
  });
  expect_error(result, StatusCode::kIoError, "too long a head");
}

TEST(ReadsInFlight, AreBoundedAndAllAnswered) {
  const std::string object = pattern(400'000);
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  ScriptedServer server([&](const Asked& asked) {
    const int mine = now.fetch_add(1) + 1;
    for (int seen = most.load(); seen < mine && !most.compare_exchange_weak(seen, mine);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    now.fetch_sub(1);
    return reply_range(asked, object);
  });
  StoreSettings settings;
  settings.reads_in_flight = 5;
  const auto store = opened(server.url(), settings);
  std::vector<std::uint8_t> into(object.size());
  std::vector<std::future<Result<std::size_t>>> reads;
  for (std::size_t at = 0; at < into.size(); at += 4'000) {
    auto promise = std::make_shared<std::promise<Result<std::size_t>>>();
    reads.push_back(promise->get_future());
    store->start_read(info(object), at, std::span(into).subspan(at, 4'000),
                      [promise](Result<std::size_t> got) { promise->set_value(std::move(got)); });
  }
  for (auto& read : reads) EXPECT_EQ(*read.get(), 4'000U);
  EXPECT_TRUE(
      std::equal(into.begin(), into.end(), reinterpret_cast<const std::uint8_t*>(object.data())));
  EXPECT_LE(most.load(), 5);
  EXPECT_LE(server.connections(), 10U);
}

TEST(ReadsInFlight, AreCancelledWhenTheStoreCloses) {
  ScriptedServer server(
      [](const Asked&) { return Scripted{"", "", SIZE_MAX, false, 60'000, false}; });
  StoreSettings settings;
  settings.reads_in_flight = 2;
  auto store = opened(server.url(), settings);
  std::vector<std::uint8_t> into(100);
  std::atomic<int> cancelled = 0;
  for (int i = 0; i < 6; ++i) {
    store->start_read({"key", 100, "e", 0}, 0, into, [&](Result<std::size_t> got) {
      if (!got && got.error().code() == StatusCode::kCancelled) cancelled.fetch_add(1);
    });
  }
  store.reset();
  EXPECT_EQ(cancelled.load(), 6);
}

// What comes behind an answer looks like the next one: the same tag and length, another object.
TEST(ReadsInFlight, BytesBehindAnAnswerAreNotTheNextOne) {
  const std::string first = pattern(2'000);
  const std::string second(2'000, 'b');
  ScriptedServer server([&](const Asked& asked) {
    Scripted answer = reply_range(asked, asked.target.ends_with("/first") ? first : second);
    if (asked.target.ends_with("/first")) {
      const Scripted late = reply_range(asked, first);
      answer.late = late.head + late.body;
    }
    return answer;
  });
  StoreSettings settings;
  settings.reads_in_flight = 1;
  const auto store = opened(server.url(), settings);
  std::vector<std::uint8_t> into(first.size());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store->read_at(info(first, "first"), 0, into));
    server.send_late();
    ASSERT_TRUE(store->read_at(info(second, "second"), 0, into));
    EXPECT_EQ(std::string(into.begin(), into.end()), second) << i;
  }
}

// At any moment: while answers come, and others begin in their place.
TEST(ReadsInFlight, AreAllAnsweredHoweverTheStoreCloses) {
  const std::string object = pattern(2'000);
  ScriptedServer server([&](const Asked& asked) { return reply_range(asked, object); });
  StoreSettings settings;
  settings.reads_in_flight = 2;
  std::vector<std::uint8_t> into(object.size());
  for (int round = 0; round < 60; ++round) {
    auto store = opened(server.url(), settings);
    constexpr int kReads = 40;
    std::atomic<int> answered = 0;
    for (int i = 0; i < kReads; ++i) {
      store->start_read(info(object), static_cast<std::uint64_t>(i) * 50,
                        std::span(into).subspan(static_cast<std::size_t>(i) * 50, 50),
                        [&](Result<std::size_t>) { answered.fetch_add(1); });
    }
    while (answered.load() < round % 20) std::this_thread::yield();
    store.reset();
    EXPECT_EQ(answered.load(), kReads);
  }
}

}  // namespace
}  // namespace framewire::store
