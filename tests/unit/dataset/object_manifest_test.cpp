// Rows in parts: how many are lost, which of them count, and what a store's errors do.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <chrono>
#include <dataset/object_manifest.hpp>
#include <future>
#include <tests/support/fake_store.hpp>

namespace framewire::dataset::test {
namespace {

using store::test::FakeStore;
using store::test::Request;
using ::testing::HasSubstr;

class ObjectRows : public ::testing::Test {
 protected:
  ObjectRows() { options_.where = {store_, "rows/"}; }
  static batch::Row row(const std::string& name, std::uint64_t bytes_out = 10) {
    batch::Row row;
    row.input = "in/" + name;
    row.output = "out/" + name;
    row.name = name;
    row.outcome = batch::Outcome::kOk;
    row.version = "v";
    row.bytes_out = bytes_out;
    row.options_hash = "1";
    return row;
  }
  static batch::DoneRow wanted(const std::string& name, std::uint64_t bytes_out = 10) {
    return *batch::parse_row(to_json_line(row(name, bytes_out)));
  }
  std::unique_ptr<ObjectManifest> open(bool resume) {
    options_.resume = resume;
    auto opened = ObjectManifest::open(options_);
    EXPECT_TRUE(opened) << opened.error().to_string();
    return opened ? std::move(*opened) : nullptr;
  }

  const std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
  ObjectManifestOptions options_;
};

TEST_F(ObjectRows, ArePartsOfWhichTheLatestCount) {
  options_.part_bytes = 2000;
  {
    const auto manifest = open(false);
    EXPECT_EQ(manifest->done(), nullptr);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(manifest->append(row(std::to_string(i))));
    ASSERT_TRUE(manifest->finish());
    ASSERT_TRUE(manifest->finish()) << "nothing is left";
  }
  const std::size_t parts = store_->all().size();
  EXPECT_GT(parts, 5u);
  EXPECT_LT(parts, 50u);
  options_.resume = false;
  const auto refused = ObjectManifest::open(options_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("s3://bucket/rows/: has rows already"));
  {
    const auto manifest = open(true);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(manifest->done()->done(wanted(std::to_string(i))));
    EXPECT_FALSE(manifest->done()->made("100"));
    ASSERT_TRUE(manifest->append(row("7", 99)));
    ASSERT_TRUE(manifest->finish());
  }
  EXPECT_EQ(store_->all().size(), parts + 1) << "no part is replaced";
  const auto manifest = open(true);
  EXPECT_TRUE(manifest->done()->done(wanted("7", 99)));
  EXPECT_FALSE(manifest->done()->done(wanted("7")));
}

// Stores know seconds, and machines' clocks differ.
TEST_F(ObjectRows, OfOneSecondTheLatestCount) {
  store_->stop_clock();
  const auto ahead = std::chrono::system_clock::now() + std::chrono::hours(1);
  const auto us = std::chrono::floor<std::chrono::microseconds>(ahead.time_since_epoch());
  store_->set(fmt::format("rows/{:016}-ffffffffffffffff-00000000.jsonl", us.count()),
              store::test::to_bytes(to_json_line(row("1", 10))));
  for (std::uint64_t bytes = 11; bytes <= 20; ++bytes) {
    const auto manifest = open(true);
    EXPECT_TRUE(manifest->done()->done(wanted("1", bytes - 1)));
    ASSERT_TRUE(manifest->append(row("1", bytes)));
    ASSERT_TRUE(manifest->finish());
  }
  // Names that lie about the time are no reason to number beyond it.
  store_->set("rows/18446744073709551615-0-0.jsonl",
              store::test::to_bytes(to_json_line(row("2", 10))));
  const auto manifest = open(true);
  ASSERT_TRUE(manifest->append(row("3")));
  ASSERT_TRUE(manifest->finish());
  EXPECT_TRUE(open(true)->done()->made("3"));
}

TEST_F(ObjectRows, WithAProcessTheLastSecondsAreLost) {
  options_.wait = std::chrono::milliseconds(0);
  (void)open(false)->append(row("kept"));
  options_.wait = std::chrono::hours(1);
  (void)open(true)->append(row("lost"));
  const auto manifest = open(true);
  EXPECT_TRUE(manifest->done()->made("kept"));
  EXPECT_FALSE(manifest->done()->made("lost"));
}

TEST_F(ObjectRows, WithoutMemoryForAPartTheBatchEndsAndDoesNotWait) {
  options_.wait = std::chrono::hours(1);
  store_->before = [](Request what, const std::string&) -> std::optional<Status> {
    if (what == Request::kPut) throw std::bad_alloc();
    return std::nullopt;
  };
  const auto manifest = open(false);
  ASSERT_TRUE(manifest->append(row("1")));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto finished = manifest->finish();
    ASSERT_FALSE(finished) << "rows were lost";
    EXPECT_EQ(finished.error().code(), StatusCode::kBusy);
  }
  EXPECT_FALSE(manifest->append(row("2")));
}

TEST_F(ObjectRows, WhileAPartIsStoredAnotherIsCollectedAndNoMore) {
  options_.part_bytes = 1000;
  std::promise<void> go_on;
  const std::shared_future<void> gate = go_on.get_future().share();
  store_->before = [&](Request what, const std::string&) -> std::optional<Status> {
    if (what == Request::kPut) gate.wait();
    return std::nullopt;
  };
  const auto manifest = open(false);
  std::atomic<int> appended{0};
  std::vector<std::future<void>> threads;
  for (int t = 0; t < 4; ++t) {
    threads.push_back(std::async(std::launch::async, [&, t] {
      for (int i = 0; i < 25; ++i) {
        EXPECT_TRUE(manifest->append(row(std::to_string(100 * t + i))));
        ++appended;
      }
    }));
  }
  int before = -1;
  while (appended != before || appended == 0) {
    before = appended;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_LT(appended, 12) << "two parts of three rows, and one of each thread";
  go_on.set_value();
  for (auto& thread : threads) thread.get();
  ASSERT_TRUE(manifest->finish());
  store_->before = nullptr;
  const auto again = open(true);
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 25; ++i) EXPECT_TRUE(again->done()->made(std::to_string(100 * t + i)));
  }
}

TEST_F(ObjectRows, ErrorsOfTheStoreEndTheBatch) {
  options_.part_bytes = 1;
  const auto manifest = open(false);
  store_->before = [](Request what, const std::string&) -> std::optional<Status> {
    if (what != Request::kPut && what != Request::kRead) return std::nullopt;
    return Status(StatusCode::kDenied, "access denied");
  };
  EXPECT_FALSE(manifest->append(row("1")));
  EXPECT_FALSE(manifest->append(row("2")));
  EXPECT_FALSE(manifest->finish());
  store_->set("rows/a.jsonl", store::test::to_bytes(to_json_line(row("1"))));
  options_.resume = true;
  EXPECT_FALSE(ObjectManifest::open(options_)) << "what cannot be read is not taken for nothing";
}

TEST_F(ObjectRows, WhatIsNoRowIsPassedOver) {
  store_->set("rows/a.jsonl", store::test::to_bytes("{\"torn\n\n" + to_json_line(row("1")) + "{"));
  store_->set("rows/b.txt", store::test::to_bytes(to_json_line(row("2"))));
  options_.part_bytes = 10;  // so that the next one is no part of ours
  store_->set("rows/c.jsonl",
              store::test::to_bytes(std::string(100, 'x') + "\n" + to_json_line(row("3"))));
  const auto manifest = open(true);
  EXPECT_TRUE(manifest->done()->made("1"));
  EXPECT_FALSE(manifest->done()->made("2"));
  EXPECT_TRUE(manifest->done()->made("3"));
  options_.part_bytes = 0;
  store_->set("rows/d.jsonl", store::test::Bytes(18u << 20, 'x'));
  const auto refused = ObjectManifest::open(options_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kTooLarge);
}

}  // namespace
}  // namespace framewire::dataset::test
