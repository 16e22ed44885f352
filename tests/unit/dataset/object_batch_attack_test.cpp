// Batches over shards of a store that lose what they read, and shards made to fill memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/unit/dataset/object_batch.hpp>
#include <thread>

namespace framewire::dataset::test {
namespace {

using store::test::Request;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The store fails for a picture while what came before it is written: what is missing is not passed
// over.
TEST_F(ObjectBatch, AShardThatIsLostWhileItsOutputIsWrittenIsNotCommitted) {
  // Between the two lies the middle of the second picture.
  constexpr std::uint64_t kFirst = 1u << 20;
  constexpr std::uint64_t kLast = 12u << 20;
  Archive archive;
  archive.file("0.jpg", picture(0, 10)).file("1.jpg", picture(1, 20u << 20));
  store_->set("in/a.tar", archive.end().bytes);
  BatchWorker worker(store_);
  worker.options.store_bytes = 8u << 20;  // one piece
  std::atomic<bool> listed{false};
  std::atomic<bool> writes{false};
  std::atomic<int> told{0};
  const auto wait_for = [](const auto& what) {
    for (int i = 0; !what && i < 60'000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  worker.options.on_error = [&](const Status&) { ++told; };
  worker.during = [&] {
    wait_for(listed);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  store_->before_read = [&](const std::string&, std::uint64_t offset) -> std::optional<Status> {
    if (offset > kLast) listed = true;
    if (offset < kFirst || offset > kLast) return std::nullopt;
    wait_for(writes);
    return Status(StatusCode::kIoError, "connection reset");
  };
  store_->before = [&](Request what, const std::string& key) -> std::optional<Status> {
    if (what == Request::kPart && key == "out/a.tar.jsonl" && !writes.exchange(true)) {
      wait_for(told);
    }
    return std::nullopt;
  };
  worker.run({"s3://bucket/in/a.tar"});
  EXPECT_TRUE(writes);
  EXPECT_EQ(worker.totals.failed, 1u);
  EXPECT_FALSE(store_->has("out/a.tar.jsonl")) << "a shard that lacks a picture counts as done";
  EXPECT_EQ(store_->uploads, 0u);
}

TEST_F(ObjectBatch, ASampleOfAnyNumberOfMembersIsRefused) {
  Archive archive;
  archive.file("0.jpg", picture(0, 10));
  for (int i = 0; i < 60'000; ++i) archive.file("many.x", "");
  archive.file("1.jpg", picture(1, 10));
  store_->set("in/a.tar", archive.end().bytes);
  BatchWorker worker(store_);
  const auto summary = worker.run({"s3://bucket/in/a.tar"});
  EXPECT_EQ(summary.ok, 1u);
  EXPECT_EQ(summary.failed, 1u);
  EXPECT_EQ(worker.totals.damaged, 1u);
  EXPECT_THAT(members("a.tar"), ElementsAre("0.jpg"));
  const store::test::Bytes rows = store_->all().at("out/a.tar.jsonl");
  EXPECT_THAT(std::string(rows.begin(), rows.end()), HasSubstr("the sample many has more than"));
}

// Members without content are listed much faster than a picture in front of them is made.
TEST_F(ObjectBatch, MembersBehindASlowPictureAreListedWithinABound) {
  constexpr int kMembers = 120'000;
  Archive archive;
  archive.file("0.jpg", picture(0, 10));
  for (int i = 0; i < kMembers; ++i) archive.file(std::to_string(i) + ".x", "");
  store_->set("in/a.tar", archive.end().bytes);
  BatchWorker worker(store_);
  worker.options.store_bytes = 16u << 20;  // two pieces of seven
  std::atomic<std::uint64_t> reached{0};
  store_->before_read = [&](const std::string&, std::uint64_t offset) -> std::optional<Status> {
    if (offset > reached) reached = offset;
    return std::nullopt;
  };
  std::uint64_t reached_meanwhile = 0;
  worker.during = [&] {
    for (int i = 0; i < 300 && reached == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    for (std::uint64_t before = 0; before != reached;) {
      before = reached;
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
    }
    reached_meanwhile = reached;
  };
  EXPECT_EQ(worker.run({"s3://bucket/in/a.tar"}).ok, 1u);
  EXPECT_GT(reached_meanwhile, 0u);
  EXPECT_LT(reached_meanwhile, archive.bytes.size() / 2);
  EXPECT_EQ(store_->all().at("out/a.tar"), archive.bytes) << "was not copied as it is";
}

TEST_F(ObjectBatch, ListingWhatIsDoneEndsWhenTheBatchIsStopped) {
  store_->set("in/a.tar", shard(1, 10));
  for (int i = 0; i < 3000; ++i) store_->set("out/" + std::to_string(i), {});
  BatchWorker worker(store_);
  worker.options.resume = true;
  store_->before = [&](Request what, const std::string&) -> std::optional<Status> {
    if (what == Request::kList) worker.stop = true;
    return std::nullopt;
  };
  worker.run({"s3://bucket/in/a.tar"});
  EXPECT_LE(store_->count(Request::kList), 2u);
  EXPECT_FALSE(store_->has("out/a.tar"));
}

}  // namespace
}  // namespace framewire::dataset::test
