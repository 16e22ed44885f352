// Pictures that are objects: what is listed and read, what is put, what resuming goes by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <batch/runner.hpp>
#include <dataset/object_outputs.hpp>
#include <dataset/object_source.hpp>
#include <dataset/passing_error.hpp>
#include <dataset/report.hpp>
#include <dataset/tar_batch.hpp>
#include <tests/support/fake_store.hpp>
#include <tests/unit/batch/memory_batch.hpp>

namespace framewire::dataset::test {
namespace {

using batch::MemoryManifest;
using batch::Outcome;
using store::test::FakeStore;
using store::test::Request;
using ::testing::HasSubstr;

class ObjectPictures : public ::testing::Test {
 protected:
  ObjectPictures() {
    store_->page_keys = 1000;
    settings_.jobs = 4;
    settings_.group = 2;
    hooks_.resize = [this](std::span<const std::uint8_t> jpeg, const ResizeOptions&) {
      const std::lock_guard lock(mutex_);
      sizes_.insert(jpeg.size());
      Resized resized;
      resized.bytes.assign(jpeg.begin(), jpeg.end());
      resized.bytes.push_back('!');
      return resized;
    };
  }
  void put_picture(const std::string& key, std::size_t bytes = 100) {
    store_->set(key, store::test::to_bytes("\xFF\xD8\xFF" + key + std::string(bytes, '.')));
  }
  [[nodiscard]] ObjectPrefix prefix(const std::string& text) const { return {store_, text}; }
  batch::Summary run(batch::Manifest* manifest, const ObjectSourceOptions& options = {}) {
    const auto source = open_object_source(prefix("in/"), options);
    const auto sink = open_object_sink(prefix("out/"));
    batch::RunOptions with;
    with.manifest = manifest;
    with.on_row = [this](const batch::Row& row) { rows_.push_back(row); };
    const auto summary = batch::run(*source, *sink, hooks_, settings_, with);
    EXPECT_TRUE(summary);
    return summary ? *summary : batch::Summary{};
  }

  const std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
  batch::Settings settings_;
  batch::Hooks hooks_;
  std::vector<batch::Row> rows_;
  std::mutex mutex_;
  std::set<std::size_t> sizes_;
};

TEST_F(ObjectPictures, EveryObjectBelowAPrefixIsMade) {
  for (int i = 0; i < 2500; ++i) {
    put_picture("in/" + std::to_string(i % 7) + "/" + std::to_string(i) + ".jpg");
  }
  put_picture("in/large.jpg", 9'000'000);
  store_->set("in/", {});
  store_->set("in/folder/", {});
  store_->set("in/notes.txt", store::test::to_bytes("no picture"));
  store_->set("in/empty.jpg", {});
  put_picture("in/a//b.jpg");
  put_picture("in/../b.jpg");
  put_picture("in2/other.jpg");
  const auto summary = run(nullptr);
  EXPECT_EQ(summary.ok, 2501u);
  EXPECT_EQ(summary.skipped, 1u);
  EXPECT_EQ(summary.failed, 3u) << "an empty one, and two whose names lead elsewhere";
  const auto all = store_->all();
  for (int i = 0; i < 2500; ++i) {
    const std::string name = std::to_string(i % 7) + "/" + std::to_string(i) + ".jpg";
    auto expected = all.at("in/" + name);
    expected.push_back('!');
    ASSERT_EQ(all.at("out/" + name), expected);
  }
  EXPECT_EQ(all.at("out/large.jpg").size(), all.at("in/large.jpg").size() + 1);
  EXPECT_FALSE(all.contains("out/notes.txt"));
  // One request each, and one more for the large one's rest; a listing of three pages, and one of
  // what is there of the outputs.
  EXPECT_LE(store_->count(Request::kRead), 2501u + 1u + 3u);
  EXPECT_LE(store_->count(Request::kList), 5u);
}

// By which the exit code says that another try may succeed.
TEST_F(ObjectPictures, RowsTellAnOutageFromFaultsOfPictures) {
  put_picture("in/0.jpg");
  store_->set("in/empty.jpg", {});
  const auto passing = [&](Request failing, StatusCode code) {
    store_->before = [=](Request request, const std::string& key) -> std::optional<Status> {
      const bool meant = request == failing && key.ends_with("0.jpg");
      return meant ? std::optional(Status(code, "an outage")) : std::nullopt;
    };
    rows_.clear();
    EXPECT_EQ(run(nullptr).failed, 2u);
    std::size_t count = 0;
    for (const batch::Row& row : rows_) {
      const bool is_passing = failed_in_passing(row);
      EXPECT_FALSE(is_passing && row.name == "empty.jpg");
      count += is_passing ? 1 : 0;
    }
    return count;
  };
  for (const StatusCode code : {StatusCode::kBusy, StatusCode::kDeadline, StatusCode::kIoError,
                                StatusCode::kPeerLost, StatusCode::kDenied}) {
    EXPECT_EQ(passing(Request::kRead, code), 1u) << to_string(code);
    if (code == StatusCode::kDenied) continue;  // ends the batch
    EXPECT_EQ(passing(Request::kPut, code), 1u) << to_string(code);
  }
  EXPECT_EQ(passing(Request::kRead, StatusCode::kInvalidInput), 0u);
  for (const auto& [code, expected] :
       {std::pair(StatusCode::kPeerLost, 1u), std::pair(StatusCode::kDeadline, 0u)}) {
    hooks_.resize = [code](std::span<const std::uint8_t>, const ResizeOptions&) -> Result<Resized> {
      return fail(code, "of the engine");
    };
    EXPECT_EQ(passing(Request::kFind, code), expected) << to_string(code);
  }
}

// A store would take two such names for one.
TEST_F(ObjectPictures, NamesThatAreNotUtf8AreNotSent) {
  const auto sink = open_object_sink(prefix("out/"));
  const std::vector<std::uint8_t> bytes(10);
  for (const std::string name : {"\xFF.jpg", "a/\xC3.jpg", "\xED\xA0\x80.jpg"}) {
    batch::Output output;
    output.name = name;
    output.input = "in/" + name;
    output.label = sink->label(name);
    const auto written = sink->commit(output, bytes);
    ASSERT_FALSE(written);
    EXPECT_FALSE(written.error().environment);
    EXPECT_EQ(written.error().status.code(), StatusCode::kInvalidInput);
    EXPECT_EQ(written.error().status.subject(), "in/" + name);
    EXPECT_FALSE(check_shard_keys(prefix("out/"), prefix("rows/"), name));
    EXPECT_FALSE(store::parse_object_url("s3://bucket/" + name));
  }
  EXPECT_TRUE(check_shard_keys(prefix("out/"), prefix("rows/"), "\xC3\xA4.tar"));
  EXPECT_TRUE(store::parse_object_url("s3://bucket/\xC3\xA4.jpg"));
  EXPECT_TRUE(store_->all().empty());
}

TEST_F(ObjectPictures, WhatIsReadAheadIsBounded) {
  for (int i = 0; i < 200; ++i) put_picture("in/" + std::to_string(i) + ".jpg", 10'000);
  ObjectSourceOptions options;
  options.ahead_bytes = 25'000;  // two of them
  settings_.jobs = settings_.group = 1;
  store_->before = [](Request request, const std::string&) -> std::optional<Status> {
    if (request == Request::kRead) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::nullopt;
  };
  EXPECT_EQ(run(nullptr, options).ok, 200u);
  EXPECT_LE(store_->most_reading, 3u);
}

TEST_F(ObjectPictures, ResumingGoesByVersionsAndReadsNothingThatIsDone) {
  for (int i = 0; i < 20; ++i) put_picture("in/" + std::to_string(i) + ".jpg");
  MemoryManifest first;
  EXPECT_EQ(run(&first).ok, 20u);
  ASSERT_EQ(first.lines.size(), 20u);
  put_picture("in/3.jpg", 200);
  store_->set("in/4.jpg", store_->all().at("in/4.jpg"));  // the same bytes, at another time
  store_->erase("out/5.jpg");
  put_picture("in/new.jpg");
  const std::uint64_t reads = store_->count(Request::kRead);
  MemoryManifest second(&first.lines);
  rows_.clear();
  ObjectSourceOptions options;
  options.wanted = [&](const std::string& name) { return !second.done()->made(name); };
  const auto summary = run(&second, options);
  EXPECT_EQ(summary.unchanged, 18u);
  EXPECT_EQ(summary.ok, 3u);
  EXPECT_EQ(store_->count(Request::kRead), reads + 3);
  EXPECT_EQ(rows_.size(), 3u);
}

TEST_F(ObjectPictures, ErrorsAreThoseOfTheirObjects) {
  for (int i = 0; i < 9; ++i) put_picture("in/" + std::to_string(i) + ".jpg");
  store_->before = [this](Request request, const std::string& key) -> std::optional<Status> {
    if (key == "in/1.jpg" && request == Request::kRead) {
      return Status(StatusCode::kBusy, "slow down");
    }
    if (key == "out/2.jpg") return Status(StatusCode::kIoError, "connection reset");
    return std::nullopt;
  };
  EXPECT_EQ(run(nullptr).ok, 7u);
  std::string messages;
  for (const batch::Row& row : rows_) {
    if (row.error) messages += row.error->to_string() + "\n";
  }
  EXPECT_THAT(messages, HasSubstr("busy: s3://bucket/in/1.jpg: slow down"));
  EXPECT_THAT(messages, HasSubstr("io_error: s3://bucket/out/2.jpg: connection reset"));

  store_->before = [](Request request, const std::string&) -> std::optional<Status> {
    if (request == Request::kPut) return Status(StatusCode::kDenied, "access denied");
    return std::nullopt;
  };
  const auto refused = run(nullptr);
  ASSERT_TRUE(refused.stopped_by) << "keys that are refused are refused for every output";
  store_->before = [](Request request, const std::string& key) -> std::optional<Status> {
    if (request == Request::kList && key.starts_with("in/")) {
      return Status(StatusCode::kIoError, "no route");
    }
    return std::nullopt;
  };
  const auto unlisted = run(nullptr);
  ASSERT_TRUE(unlisted.stopped_by);
  EXPECT_THAT(unlisted.stopped_by->to_string(), HasSubstr("no route"));
}

TEST_F(ObjectPictures, NothingIsReadForABucketThatIsMissing) {
  put_picture("in/1.jpg");
  store_->before = [](Request request, const std::string& key) -> std::optional<Status> {
    const bool outputs = request == Request::kList && key.starts_with("out/");
    return outputs ? std::optional(Status(StatusCode::kIoError, "no such bucket")) : std::nullopt;
  };
  const auto source = open_object_source(prefix("in/"), ObjectSourceOptions{.reads_ahead = 0});
  const auto sink = open_object_sink(prefix("out/"));
  const auto summary = batch::run(*source, *sink, hooks_, settings_, {});
  ASSERT_FALSE(summary);
  EXPECT_THAT(summary.error().to_string(), HasSubstr("no such bucket"));
  EXPECT_EQ(store_->count(Request::kRead), 0u);
}

TEST_F(ObjectPictures, AnObjectThatIsReplacedWhileItIsReadHasFailed) {
  put_picture("in/a.jpg", 9'000'000);
  store_->before = [this, replaced = false](Request request,
                                            const std::string&) mutable -> std::optional<Status> {
    // Before the second request, which reads the rest.
    if (request == Request::kRead && store_->count(Request::kRead) == 2 && !replaced) {
      replaced = true;
      put_picture("in/a.jpg", 9'000'001);
    }
    return std::nullopt;
  };
  EXPECT_EQ(run(nullptr).failed, 1u);
  EXPECT_FALSE(store_->has("out/a.jpg"));
}

// In a folder such an output would be deleted by the next run, or take the place of one on its way.
TEST_F(ObjectPictures, NamesOfUnfinishedOutputsAreRefused) {
  put_picture("in/a.jpg");
  put_picture("in/.framewire-1.tmp");
  put_picture("in/b/.framewire-1.tmp");
  EXPECT_EQ(run(nullptr).ok, 1u);
  EXPECT_FALSE(store_->has("out/.framewire-1.tmp"));
  EXPECT_FALSE(store_->has("out/b/.framewire-1.tmp"));
}

TEST_F(ObjectPictures, AListingWithoutPicturesIsLeftWhenTheBatchIsStopped) {
  for (int i = 0; i < 9000; ++i) store_->set("in/" + std::to_string(i) + "/", {});
  store_->page_keys = 1000;
  std::atomic<bool> stop{false};
  store_->before = [&](Request request, const std::string&) -> std::optional<Status> {
    if (request == Request::kList) stop = true;
    return std::nullopt;
  };
  ObjectSourceOptions options;
  options.stop = &stop;
  const auto source = open_object_source({store_, "in/"}, options);
  const auto input = source->next();
  ASSERT_TRUE(input);
  EXPECT_FALSE(*input);
  EXPECT_EQ(store_->count(Request::kList), 1u);
}

}  // namespace
}  // namespace framewire::dataset::test
