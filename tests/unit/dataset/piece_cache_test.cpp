// Pieces of objects: what is read ahead, what memory bounds, what is fetched again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <dataset/object_shard.hpp>
#include <dataset/piece_cache.hpp>
#include <future>
#include <tests/service/support/failing_memory.hpp>
#include <tests/support/fake_store.hpp>

namespace framewire::dataset::test {
namespace {

using store::test::FakeStore;
using store::test::Request;
using Bytes = store::test::Bytes;
using ::testing::HasSubstr;

class Pieces : public ::testing::Test {
 protected:
  Pieces() {
    for (std::size_t i = 0; i < object_.size(); ++i) {
      object_[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
    }
    store_->set("a.tar", object_);
  }
  [[nodiscard]] store::ObjectInfo info() { return **store_->find("a.tar"); }
  [[nodiscard]] Bytes part(std::size_t offset, std::size_t bytes) const {
    const auto begin = object_.begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
  }
  static Bytes read(PieceCache::Reader& reader, std::size_t offset, std::size_t bytes) {
    Bytes into(bytes);
    const auto got = reader.read_at(offset, into);
    EXPECT_TRUE(got) << got.error().to_string();
    into.resize(got.value_or(0));
    return into;
  }

  Bytes object_ = Bytes(100'000);
  const std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
};

TEST_F(Pieces, AReadAcrossPiecesAndBeyondTheEndIsWhatTheObjectHas) {
  PieceCache cache({.max_bytes = 10'000, .piece_bytes = 1000, .objects = 1});
  PieceCache::Reader reader(cache, *store_, info());
  EXPECT_EQ(read(reader, 990, 2020), part(990, 2020));
  EXPECT_EQ(read(reader, 0, 100'000), object_) << "more than all memory";
  EXPECT_EQ(read(reader, 99'999, 100), part(99'999, 1));
  EXPECT_TRUE(read(reader, 100'000, 1).empty());
  EXPECT_LE(cache.peak_bytes(), 10'000u);
}

TEST_F(Pieces, APieceIsFetchedOnceWhoeverReadsIt) {
  PieceCache cache({.max_bytes = 200'000, .piece_bytes = 1000});
  PieceCache::Reader reader(cache, *store_, info());
  std::vector<std::future<void>> readers;
  for (int i = 0; i < 8; ++i) {
    readers.push_back(std::async(std::launch::async, [&, i] {
      for (std::size_t at = 0; at + 700 < object_.size(); at += 700 + static_cast<std::size_t>(i)) {
        EXPECT_EQ(read(reader, at, 700), part(at, 700));
      }
    }));
  }
  for (auto& each : readers) each.get();
  EXPECT_EQ(store_->count(Request::kRead), 100u);
}

TEST_F(Pieces, WhatIsReadAheadIsBoundedAndFollowsWhoWalks) {
  PieceCache cache({.max_bytes = 16'000, .piece_bytes = 1000, .objects = 2});
  ASSERT_EQ(cache.ahead(), 4u);
  PieceCache::Reader reader(cache, *store_, info());
  reader.read_ahead(0);
  reader.read_ahead(10);
  while (store_->count(Request::kRead) < 4 || store_->reading > 0) std::this_thread::yield();
  EXPECT_EQ(store_->count(Request::kRead), 4u) << "pieces 0 to 3";
  EXPECT_EQ(read(reader, 500, 3000), part(500, 3000));
  EXPECT_EQ(store_->count(Request::kRead), 4u);
  reader.read_ahead(2500);
  while (store_->count(Request::kRead) < 6) std::this_thread::yield();
  for (std::size_t at = 0; at < object_.size(); at += 500) {
    reader.read_ahead(at);
    EXPECT_EQ(read(reader, at, 500), part(at, 500));
    reader.release_before(at);
  }
  EXPECT_EQ(store_->count(Request::kRead), 100u) << "a piece was fetched twice";
  EXPECT_LE(cache.peak_bytes(), 16'000u);
}

// Who walks through goes on, since nothing is released: what was passed is dropped, and fetched
// again by who needs it late.
TEST_F(Pieces, ADroppedPieceIsFetchedAgain) {
  PieceCache cache({.max_bytes = 8000, .piece_bytes = 1000});
  PieceCache::Reader reader(cache, *store_, info());
  for (std::size_t at = 0; at < object_.size(); at += 500) {
    reader.read_ahead(at);
    EXPECT_EQ(read(reader, at, 500), part(at, 500));
  }
  const std::uint64_t once = store_->count(Request::kRead);
  EXPECT_EQ(once, 100u);
  for (std::size_t at = 0; at < 10'000; at += 500) EXPECT_EQ(read(reader, at, 500), part(at, 500));
  EXPECT_EQ(store_->count(Request::kRead), once + 10);
  EXPECT_LE(cache.peak_bytes(), 8000u);
}

TEST_F(Pieces, WhereAllMemoryIsInUseRangesAreReadWithoutIt) {
  PieceCache cache({.max_bytes = 1000, .piece_bytes = 1000});
  PieceCache::Reader reader(cache, *store_, info());
  std::promise<void> go_on;
  const std::shared_future<void> gate = go_on.get_future().share();
  std::atomic<int> read_requests{0};
  store_->before = [&](Request request, const std::string&) -> std::optional<Status> {
    if (request == Request::kRead && read_requests++ == 0) gate.wait();
    return std::nullopt;
  };
  reader.read_ahead(0);  // takes all memory, and does not come
  while (read_requests == 0) std::this_thread::yield();
  EXPECT_EQ(read(reader, 5000, 700), part(5000, 700));
  go_on.set_value();
  EXPECT_EQ(read(reader, 100, 200), part(100, 200));
}

TEST_F(Pieces, WhatFailsAheadIsAskedForAgain) {
  PieceCache cache({.max_bytes = 100'000, .piece_bytes = 1000});
  std::atomic<int> faults{3};
  store_->before = [&](Request request, const std::string&) -> std::optional<Status> {
    if (request == Request::kRead && faults-- > 0) return Status(StatusCode::kBusy, "slow down");
    return std::nullopt;
  };
  PieceCache::Reader reader(cache, *store_, info());
  reader.read_ahead(0);
  while (faults > 0 || cache.reading() > 0) std::this_thread::yield();
  EXPECT_EQ(read(reader, 0, 100'000), object_);
}

// The store has tried each request as often as it may: twice that is twice as long.
TEST_F(Pieces, WhoWaitsForAPieceDoesNotAskForItAgain) {
  PieceCache cache({.max_bytes = 100'000, .piece_bytes = 1000});
  store_->before = [](Request request, const std::string&) -> std::optional<Status> {
    if (request == Request::kRead) return Status(StatusCode::kDeadline, "stalled");
    return std::nullopt;
  };
  PieceCache::Reader reader(cache, *store_, info());
  Bytes into(10);
  for (unsigned asked = 1; asked <= 3; ++asked) {
    const auto got = reader.read_at(0, into);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code(), StatusCode::kDeadline);
    EXPECT_EQ(store_->count(Request::kRead), asked);
  }
}

TEST_F(Pieces, AnErrorIsThatOfTheWholeShard) {
  PieceCache cache({.max_bytes = 100'000, .piece_bytes = 1000});
  ObjectShard shard(store_, info(), cache);
  Bytes into(10);
  ASSERT_TRUE(shard.read_at(0, into));
  EXPECT_FALSE(shard.lost());
  store_->set("a.tar", store::test::to_bytes("another"));
  ASSERT_TRUE(shard.read_at(5, into)) << "what has been read already";
  const auto got = shard.read_at(50'000, into);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), StatusCode::kInvalidInput);
  EXPECT_THAT(got.error().to_string(), HasSubstr("s3://bucket/a.tar"));
  ASSERT_TRUE(shard.lost());
  EXPECT_FALSE(shard.read_at(0, into)) << "the rest of a lost shard is of no use";
}

// At each allocation in turn: a piece that is known and never comes would be waited for without
// end.
TEST_F(Pieces, MemoryThatRunsOutLeavesNobodyWaiting) {
  const auto object = info();
  bool failed = true;
  for (long n = 1; failed; ++n) {
    ASSERT_LT(n, 10'000);
    PieceCache cache({.max_bytes = 8000, .piece_bytes = 1000});
    ObjectShard shard(store_, object, cache);
    Bytes into(1500);
    {
      const service::test::FailingMemory memory(n);
      for (std::uint64_t at = 0; at < 20'000; at += 1500) {
        shard.read_ahead(at);
        try {
          if (shard.read_at(at, into)) {
            EXPECT_EQ(into, part(at, into.size())) << n;
          }
        } catch (const std::bad_alloc&) {
        }
      }
      failed = memory.failed();
    }
  }
}

TEST_F(Pieces, AReaderGoesWhileRangesAreOnTheirWay) {
  PieceCache cache({.max_bytes = 100'000, .piece_bytes = 1000});
  store_->before = [](Request request, const std::string&) -> std::optional<Status> {
    if (request == Request::kRead) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return std::nullopt;
  };
  const auto object = info();
  for (int i = 0; i < 5; ++i) {
    PieceCache::Reader reader(cache, *store_, object);
    reader.read_ahead(0);
  }
  EXPECT_EQ(store_->reading, 0u);
}

}  // namespace
}  // namespace framewire::dataset::test
