// Objects written to servers that fail, lose answers, and have had others write first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <base/ascii.hpp>
#include <store/digest.hpp>
#include <tests/store/opened_store.hpp>
#include <tests/store/scripted_server.hpp>

namespace framewire::store {
namespace {

using namespace framewire::test;
using testing::HasSubstr;

constexpr const char* kWriteId = "x-amz-meta-framewire-write";

// Also in place of an answer that has no body.
const Scripted kHangUp{"", "", SIZE_MAX, false, 0, true};

std::span<const std::uint8_t> bytes_of(const std::string& text) { return as_bytes(text); }

// A bucket in memory, with conditions and parts; what a test wants to go wrong goes first.
class FakeBucket {
 public:
  /// @param fault  answers instead, if it answers; @return whether the request is carried out first
  std::function<std::optional<Scripted>(const Asked&)> before = [](const Asked&) {
    return std::nullopt;
  };
  std::function<std::optional<Scripted>(const Asked&)> after = [](const Asked&) {
    return std::nullopt;
  };

  Scripted operator()(const Asked& asked) {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(asked.headers.at("x-amz-content-sha256"),
              base::to_hex(*sha256(bytes_of(asked.body))));
    if (auto instead = before(asked)) return *instead;
    Scripted done = serve(asked);
    if (auto instead = after(asked)) return *instead;
    return done;
  }

  std::optional<std::string> object;
  std::string etag = "e";  ///< of any object
  std::string write_id;
  std::map<std::string, std::string> parts;  ///< by number
  bool uploading = false;
  unsigned aborted = 0;

 private:
  Scripted serve(const Asked& asked) {
    const auto header = [&](const char* name) {
      const auto found = asked.headers.find(name);
      return found == asked.headers.end() ? std::string() : found->second;
    };
    const bool has_parts = asked.target.find("uploadId=up") != std::string::npos;
    if (asked.method == "HEAD") {
      if (!object) {
        return Scripted{
            "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n", "", SIZE_MAX, false, 0, false};
      }
      Scripted head =
          reply(200, *object,
                {"ETag: \"" + etag + '"', "Last-Modified: Fri, 24 May 2013 00:00:00 GMT",
                 std::string(kWriteId) + ": " + write_id});
      head.body.clear();
      return head;
    }
    if (asked.method == "POST" && asked.target.ends_with("?uploads=")) {
      uploading = true;
      pending_id_ = header(kWriteId);
      return reply(
          200,
          "<InitiateMultipartUploadResult><UploadId>up</UploadId></InitiateMultipartUploadResult>");
    }
    if (has_parts && !uploading) return reply(404, "<Error><Code>NoSuchUpload</Code></Error>");
    if (asked.method == "DELETE") {
      if (has_parts) {
        uploading = false;
        ++aborted;
      } else {
        object.reset();
      }
      return reply(204);
    }
    if (asked.method == "PUT" && has_parts) {
      const std::size_t at = asked.target.find("partNumber=") + 11;
      parts[asked.target.substr(at, asked.target.find('&') - at)] = asked.body;
      return reply(200, "", {"ETag: \"p\""});
    }
    if (header("if-none-match") == "*" && object) {
      return reply(412, "<Error><Code>PreconditionFailed</Code></Error>");
    }
    if (const std::string same = header("if-match"); !same.empty()) {
      if (!object) return reply(404, "<Error><Code>NoSuchKey</Code></Error>");
      if (same != '"' + etag + '"') {
        return reply(412, "<Error><Code>PreconditionFailed</Code></Error>");
      }
    }
    if (asked.method == "PUT") {
      object = asked.body;
      write_id = header(kWriteId);
      return reply(200, "", {"ETag: \"e\""});
    }
    object.emplace();
    for (std::size_t i = 1; i <= parts.size(); ++i) *object += parts[std::to_string(i)];
    write_id = pending_id_;
    uploading = false;
    return reply(200, "<CompleteMultipartUploadResult/>");
  }

  std::mutex mutex_;
  std::string pending_id_;
};

class Writes : public testing::Test {
 protected:
  FakeBucket bucket_;
  ScriptedServer server_{[this](const Asked& asked) { return bucket_(asked); }};
  std::shared_ptr<ObjectStore> store_ = opened(server_.url());
  std::string large_ = pattern((std::size_t{40} << 20) + 7);

  Result<PutOutcome> put_parts(PutCondition condition) {
    auto upload = store_->upload("shard.tar");
    if (!upload) return fail(upload.error());
    for (std::size_t at = 0; at < large_.size(); at += 3'000'000) {
      if (auto added = (*upload)->append(bytes_of(large_.substr(at, 3'000'000))); !added) {
        return fail(added.error());
      }
    }
    return (*upload)->complete(condition);
  }
};

// One request that is carried out, and whose answer is lost.
auto loses(std::function<bool(const Asked&)> which) {
  return [which = std::move(which),
          lost = false](const Asked& asked) mutable -> std::optional<Scripted> {
    if (!which(asked) || std::exchange(lost, true)) return std::nullopt;
    return kHangUp;
  };
}

bool is_completion_of_parts(const Asked& asked) {
  return asked.method == "POST" && asked.target.find("uploadId") != std::string::npos;
}

TEST_F(Writes, SmallObjectsAreOneRequest) {
  auto upload = store_->upload("k");
  ASSERT_TRUE((*upload)->append(bytes_of("abc")));
  ASSERT_TRUE((*upload)->append(bytes_of("def")));
  EXPECT_EQ(*(*upload)->complete(PutCondition::kNone), PutOutcome::kStored);
  EXPECT_EQ(bucket_.object, "abcdef");
  EXPECT_EQ(server_.requests(), 1U);
  auto empty = store_->upload("k");
  EXPECT_EQ(*(*empty)->complete(PutCondition::kNone), PutOutcome::kStored);
  EXPECT_EQ(bucket_.object, "");
}

TEST_F(Writes, LargeOnesArePartsInOrder) {
  const auto outcome = put_parts(PutCondition::kIfAbsent);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(*outcome, PutOutcome::kStored);
  EXPECT_EQ(bucket_.parts.size(), 3U);
  EXPECT_EQ(bucket_.parts["1"].size(), std::size_t{16} << 20);
  EXPECT_TRUE(bucket_.object == large_);
  EXPECT_EQ(bucket_.aborted, 0U);
}

TEST_F(Writes, OneWriterWins) {
  EXPECT_EQ(*store_->put("k", bytes_of("first"), PutCondition::kIfAbsent), PutOutcome::kStored);
  EXPECT_EQ(*store_->put("k", bytes_of("second"), PutCondition::kIfAbsent), PutOutcome::kExists);
  EXPECT_EQ(*put_parts(PutCondition::kIfAbsent), PutOutcome::kExists);
  EXPECT_EQ(bucket_.object, "first");
  EXPECT_EQ(bucket_.aborted, 1U);
  EXPECT_EQ(*store_->put("k", bytes_of("third"), PutCondition::kNone), PutOutcome::kStored);
  EXPECT_EQ(bucket_.object, "third");
}

// Between a look and a write another version may come, or the object may go.
TEST_F(Writes, OnlyTheVersionThatWasSeenIsReplaced) {
  const ObjectInfo seen{"shard.tar", 5, "e", 0};
  const auto replace_by_parts = [&] {
    auto upload = store_->upload("shard.tar");
    EXPECT_TRUE((*upload)->append(bytes_of(large_)));
    return (*upload)->replace(seen.etag);
  };
  EXPECT_EQ(*store_->replace(seen, bytes_of("second")), PutOutcome::kExists) << "it has gone";
  EXPECT_EQ(*replace_by_parts(), PutOutcome::kExists);
  EXPECT_FALSE(bucket_.object);
  bucket_.object = "first";
  EXPECT_EQ(*store_->replace(seen, bytes_of("second")), PutOutcome::kStored);
  EXPECT_EQ(bucket_.object, "second");
  EXPECT_EQ(*replace_by_parts(), PutOutcome::kStored);
  EXPECT_TRUE(bucket_.object == large_);
  bucket_.object = "another's";
  bucket_.etag = "f";
  EXPECT_EQ(*store_->replace(seen, bytes_of("third")), PutOutcome::kExists);
  EXPECT_EQ(*replace_by_parts(), PutOutcome::kExists);
  EXPECT_EQ(bucket_.object, "another's");
  EXPECT_EQ(bucket_.aborted, 2U);
}

TEST_F(Writes, AReplacementWhoseAnswerIsLostIsFound) {
  bucket_.object = "first";
  bucket_.after = [this, lost = loses([](const Asked& asked) { return asked.method == "PUT"; })](
                      const Asked& asked) mutable {
    if (asked.method == "PUT") bucket_.etag = "f";
    return lost(asked);
  };
  EXPECT_EQ(*store_->replace({"k", 5, "e", 0}, bytes_of("second")), PutOutcome::kStored);
  EXPECT_EQ(bucket_.object, "second");
}

TEST_F(Writes, AStoreThatDoesNotKnowIfMatchIsTold) {
  bucket_.before = [](const Asked& asked) -> std::optional<Scripted> {
    if (!asked.headers.contains("if-match")) return std::nullopt;
    return reply(501, "<Error><Code>NotImplemented</Code><Message>a header</Message></Error>");
  };
  const auto outcome = store_->replace({"k", 5, "e", 0}, bytes_of("second"));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), StatusCode::kUnsupported);
  EXPECT_THAT(outcome.error().to_string(), HasSubstr("501 NotImplemented: a header"));
  EXPECT_THAT(outcome.error().to_string(), HasSubstr("If-Match"));
}

TEST_F(Writes, AnAnswerThatIsLostIsNoOtherWriter) {
  bucket_.after = loses([](const Asked& asked) { return asked.method == "PUT"; });
  const auto outcome = store_->put("k", bytes_of("mine"), PutCondition::kIfAbsent);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(*outcome, PutOutcome::kStored);
}

TEST_F(Writes, ACompletionWhoseAnswerIsLostIsFound) {
  for (const PutCondition condition : {PutCondition::kNone, PutCondition::kIfAbsent}) {
    bucket_.object.reset();
    bucket_.after = loses(is_completion_of_parts);
    const auto outcome = put_parts(condition);
    ASSERT_TRUE(outcome) << outcome.error().to_string();
    EXPECT_EQ(*outcome, PutOutcome::kStored);
    EXPECT_TRUE(bucket_.object == large_);
  }
  EXPECT_EQ(bucket_.aborted, 0U);
}

TEST_F(Writes, AnErrorBehindSuccessIsAnError) {
  unsigned asked_again = 0;
  bucket_.before = [&](const Asked& asked) -> std::optional<Scripted> {
    if (!is_completion_of_parts(asked) || asked_again++ > 0) return std::nullopt;
    return reply(200, "<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code></Error>");
  };
  const auto outcome = put_parts(PutCondition::kNone);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(asked_again, 2U);
  EXPECT_TRUE(bucket_.object == large_);

  bucket_.before = [](const Asked& asked) -> std::optional<Scripted> {
    if (!is_completion_of_parts(asked)) return std::nullopt;
    return reply(200, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>");
  };
  const auto refused = put_parts(PutCondition::kNone);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("AccessDenied: no"));
  EXPECT_EQ(bucket_.aborted, 1U);
}

TEST_F(Writes, PartsAreSentAgain) {
  unsigned refused = 0;
  bucket_.before = [&](const Asked& asked) -> std::optional<Scripted> {
    if (asked.method != "PUT" || refused >= 3) return std::nullopt;
    ++refused;
    return reply(503, "<Error><Code>SlowDown</Code></Error>");
  };
  const auto outcome = put_parts(PutCondition::kNone);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_TRUE(bucket_.object == large_);
}

TEST_F(Writes, APartThatFailsEndsTheUpload) {
  bucket_.before = [](const Asked& asked) -> std::optional<Scripted> {
    if (asked.method != "PUT") return std::nullopt;
    return reply(403, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>");
  };
  const auto outcome = put_parts(PutCondition::kNone);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), StatusCode::kDenied);
  EXPECT_EQ(outcome.error().subject(), "s3://photos/shard.tar");
  EXPECT_EQ(bucket_.aborted, 1U);
  EXPECT_FALSE(bucket_.object);
}

TEST_F(Writes, WhatIsNotCompletedIsAborted) {
  {
    auto upload = store_->upload("shard.tar");
    ASSERT_TRUE((*upload)->append(bytes_of(large_)));
  }
  EXPECT_EQ(bucket_.aborted, 1U);
  EXPECT_FALSE(bucket_.object);
}

TEST_F(Writes, GivingUpDoesNotWaitForAServerThatStalls) {
  bucket_.before = [](const Asked& asked) -> std::optional<Scripted> {
    if (asked.method != "PUT") return std::nullopt;
    return Scripted{"", "", SIZE_MAX, false, 60'000, false};
  };
  StoreTiming timing = short_times();
  timing.stalled = std::chrono::seconds(60);
  store_ = opened(server_.url(), {}, timing);
  const auto began = std::chrono::steady_clock::now();
  {
    auto upload = store_->upload("shard.tar");
    ASSERT_TRUE((*upload)->append(bytes_of(large_)));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(45));
  EXPECT_EQ(bucket_.aborted, 1U);
}

TEST_F(Writes, FindAndRemove) {
  EXPECT_FALSE(*store_->find("k"));
  ASSERT_TRUE(store_->put("k", bytes_of("12345"), PutCondition::kNone));
  const auto found = store_->find("k");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->bytes, 5U);
  EXPECT_EQ((*found)->etag, "e");
  EXPECT_EQ((*found)->mtime_ns, 1'369'353'600'000'000'000);
  EXPECT_TRUE(store_->remove("k"));
  EXPECT_FALSE(*store_->find("k"));
}

// Every third request is refused, or carried out without a word; two writers want each object.
TEST_F(Writes, AStormLosesNothingAndStoresNothingTwice) {
  std::atomic<unsigned> count = 0;
  const auto hit = [&] { return count.fetch_add(1) % 3 == 1; };
  bucket_.before = [&](const Asked&) {
    return hit() ? std::optional(reply(503, "<Error><Code>SlowDown</Code></Error>")) : std::nullopt;
  };
  bucket_.after = [&](const Asked&) { return hit() ? std::optional(kHangUp) : std::nullopt; };
  StoreSettings settings;
  settings.attempts = 30;
  for (int round = 0; round < 20; ++round) {
    bucket_.object.reset();
    std::atomic<int> stored = 0;
    std::vector<std::string> contents(2);
    std::vector<std::thread> writers;
    std::string winner;
    for (int i = 0; i < 2; ++i) {
      contents[i] = "round " + std::to_string(round) + " writer " + std::to_string(i);
      writers.emplace_back([&, i] {
        const auto store = opened(server_.url(), settings);
        const auto outcome = store->put("k", bytes_of(contents[i]), PutCondition::kIfAbsent);
        ASSERT_TRUE(outcome) << outcome.error().to_string();
        if (*outcome != PutOutcome::kStored) return;
        ++stored;
        winner = contents[i];
      });
    }
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(stored.load(), 1);
    EXPECT_EQ(bucket_.object, winner);
  }
  const auto outcome = [&] {
    store_ = opened(server_.url(), settings);
    bucket_.object.reset();
    return put_parts(PutCondition::kIfAbsent);
  }();
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(*outcome, PutOutcome::kStored);
  EXPECT_TRUE(bucket_.object == large_);
}

}  // namespace
}  // namespace framewire::store
