// Batches over tar shards with hooks in place of an engine: what slow, lost and unreadable members
// do.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <base/file_descriptor.hpp>
#include <batch/runner.hpp>
#include <dataset/tar_batch.hpp>
#include <future>
#include <map>
#include <mutex>
#include <new>
#include <tests/integration/support.hpp>
#include <tests/support/archive.hpp>

namespace framewire::batch {
namespace {

using dataset::ShardTotals;
using dataset::TarBatch;
using dataset::TarBatchOptions;
using dataset::test::Archive;
using dataset::test::walk;
using ::testing::HasSubstr;

/// The output is the input's bytes, twice.
Result<Resized> twice(std::span<const std::uint8_t> jpeg, const ResizeOptions&) {
  Resized resized;
  resized.bytes.assign(jpeg.begin(), jpeg.end());
  resized.bytes.insert(resized.bytes.end(), jpeg.begin(), jpeg.end());
  return resized;
}

class ShardsRun : public ::testing::Test {
 protected:
  ShardsRun() {
    settings_.jobs = 4;
    settings_.group = 1;
    hooks_.resize = twice;
    options_.outputs = options_.manifests = folder_ / "out";
    options_.on_error = [this](const Status& error) { errors_.push_back(error); };
    options_.stop = with_.stop = &stop_;
    with_.on_row = [this](const Row& row) { rows_.push_back(row); };
  }

  static std::string picture(int number, std::size_t bytes) {
    std::string text(bytes, static_cast<char>('0' + number % 10));
    return "\xFF\xD8\xFF" + std::to_string(number) + "." + text;
  }
  void make_shard(const std::string& name, int pictures, std::size_t bytes) const {
    Archive archive;
    for (int i = 0; i < pictures; ++i) {
      const std::string key = std::to_string(1000 + i);
      archive.file(key + ".jpg", picture(i, bytes)).file(key + ".txt", key);
    }
    test::write_file(folder_ / name, archive.end().bytes);
  }
  [[nodiscard]] std::unique_ptr<TarBatch> open(const std::vector<std::string>& names) const {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(folder_ / name);
    auto shards = TarBatch::open(paths, options_);
    EXPECT_TRUE(shards) << shards.error().to_string();
    return shards ? std::move(*shards) : nullptr;
  }
  Summary run(const std::vector<std::string>& names) { return run(open(names)); }
  Summary run(const std::unique_ptr<TarBatch>& shards) {
    if (!shards) return {};
    with_.manifest = &shards->manifest();
    auto summary = batch::run(shards->source(), shards->sink(), hooks_, settings_, with_);
    totals_ = shards->totals();
    EXPECT_TRUE(summary);
    return summary ? *summary : Summary{};
  }
  [[nodiscard]] dataset::test::Walk output(const std::string& name) const {
    return walk(test::read_file(folder_ / ("out/" + name)));
  }

  const test::TemporaryFolder folder_;
  Settings settings_;
  Hooks hooks_;
  RunOptions with_;
  TarBatchOptions options_;
  ShardTotals totals_;
  std::vector<Row> rows_;
  std::vector<Status> errors_;
  std::atomic<bool> stop_{false};
};

TEST_F(ShardsRun, ResultsComeInOrderHoweverTheyAreMade) {
  make_shard("a.tar", 200, 100);
  make_shard("b.tar", 100, 3000);
  make_shard("c.tar", 1, 1);
  options_.in_work = 2;
  hooks_.resize = [](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    if (jpeg[4] % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return twice(jpeg, options);
  };
  EXPECT_EQ(run({"a.tar", "b.tar", "c.tar"}).ok, 301u);
  EXPECT_EQ(totals_.written, 3u);
  EXPECT_EQ(totals_.samples, 301u);
  for (const char* name : {"a.tar", "b.tar", "c.tar"}) {
    const auto before = walk(test::read_file(folder_ / name));
    EXPECT_EQ(output(name).names(), before.names()) << name;
  }
  EXPECT_EQ(output("a.tar").members[2].header.size, 2 * picture(1, 100).size());
}

TEST_F(ShardsRun, WhatCameOfEachShardIsToldOnceThatIsWritten) {
  settings_.jobs = 1;
  make_shard("a.tar", 4, 100);
  make_shard("b.tar", 5, 100);
  make_shard("c.tar", 3, 100);
  hooks_.resize = [](std::span<const std::uint8_t> jpeg,
                     const ResizeOptions& options) -> Result<Resized> {
    if (jpeg[3] == '1') return fail(StatusCode::kInvalidInput, "is none");
    if (jpeg[3] == '4') return fail(StatusCode::kDeviceLost, "is gone");
    return twice(jpeg, options);
  };
  std::map<std::string, dataset::ShardRows> told;
  options_.on_written = [&](const std::string& input, const dataset::ShardRows& rows) {
    EXPECT_TRUE(told.emplace(input, rows).second) << input;
  };
  EXPECT_GT(run({"a.tar", "b.tar", "c.tar"}).ok, 5u) << "b.tar's count here";
  EXPECT_EQ(totals_.written, 2u);
  ASSERT_EQ(told.size(), 2u);
  const std::map<std::string, std::uint64_t> errors = {{"invalid_input", 1}};
  for (const auto& [name, ok] : std::map<std::string, std::uint64_t>{{"a.tar", 3}, {"c.tar", 2}}) {
    const dataset::ShardRows& rows = told[folder_ / name];
    EXPECT_EQ(rows.ok, ok);
    EXPECT_EQ(rows.failed, 1u);
    EXPECT_EQ(rows.errors, errors);
    EXPECT_EQ(rows.bytes_in, ok * picture(0, 100).size());
    EXPECT_EQ(rows.bytes_out, 2 * rows.bytes_in);
    EXPECT_EQ(rows.copy_errors, 0u);
  }
}

TEST_F(ShardsRun, OnePictureThatTakesLongHoldsUpItsOwnShardWithinTheBound) {
  make_shard("a.tar", 400, 4000);
  options_.waiting_bytes = 64 * 1024;  // eight results
  std::promise<void> go_on;
  const std::shared_future<void> gate = go_on.get_future().share();
  std::atomic<int> made{0};
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    if (jpeg[3] == '0' && jpeg[4] == '.') {
      gate.wait();
    } else {
      ++made;
    }
    return twice(jpeg, options);
  };
  auto running = std::async(std::launch::async, [&] { return run({"a.tar"}); });
  int before = -1;
  while (made != before || made == 0) {
    before = made;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  // Those that fill the bound, and those that were handed out before it was reached.
  EXPECT_LT(made, 8 + 4 * 4 + 4) << "the source goes on whatever waits";
  go_on.set_value();
  EXPECT_EQ(running.get().ok, 400u);
  EXPECT_EQ(output("a.tar").members.size(), 800u);
}

// The thread that lists waits for room, and the one whose result it waits for is gone.
TEST_F(ShardsRun, AThreadThatIsLostWhileResultsWaitEndsTheBatch) {
  make_shard("a.tar", 400, 4000);
  options_.waiting_bytes = 64 * 1024;
  std::atomic<int> made{0};
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    if (jpeg[3] == '0' && jpeg[4] == '.') {
      for (int before = -1; made != before || made == 0;) {
        before = made;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
    }
    ++made;
    return twice(jpeg, options);
  };
  // What is thrown around a picture, not in making it, has no row: its thread ends.
  hooks_.begin_all = [&](std::span<const std::span<const std::uint8_t>> files,
                         const ResizeOptions& options) -> PendingResults {
    std::vector<Result<Resized>> results;
    for (const auto& file : files) {
      if (file[3] == '0' && file[4] == '.') {
        (void)hooks_.resize(file, options);
        throw std::bad_alloc();
      }
      results.push_back(hooks_.resize(file, options));
    }
    return [results] { return results; };
  };
  const Summary summary = run({"a.tar"});
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->code(), StatusCode::kBusy);
  EXPECT_EQ(totals_.written, 0u);
  EXPECT_TRUE(test::read_tree(folder_ / "out").empty()) << "half a shard was left";
}

// The shard becomes shorter while it is read: what is copied late is gone.
TEST_F(ShardsRun, AMemberThatCannotBeReadFailsItsSampleAlone) {
  Archive archive;
  archive.file("1.jpg", picture(1, 10)).file("1.txt", "one");
  archive.file("2.jpg", picture(2, 10)).file("2.bin", std::string(9'000'000, 'b'));
  const std::size_t cut = archive.bytes.size() - 1'000'000;
  archive.end();
  test::write_file(folder_ / "a.tar", archive.bytes);
  make_shard("b.tar", 3, 10);
  settings_.jobs = 1;
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    if (jpeg[3] == '2') {
      // By then the whole of it has been listed.
      while (!test::fs::exists(folder_ / "out/.framewire-b.tar.tmp")) std::this_thread::yield();
      test::fs::resize_file(folder_ / "a.tar", cut);
    }
    return twice(jpeg, options);
  };
  const Summary summary = run({"a.tar", "b.tar"});
  EXPECT_FALSE(summary.stopped_by);
  EXPECT_EQ(totals_.written, 2u);
  EXPECT_EQ(totals_.copy_errors, 1u);
  ASSERT_EQ(errors_.size(), 1u);
  EXPECT_THAT(errors_[0].to_string(), HasSubstr("a.tar: 2.bin"));
  EXPECT_EQ(output("a.tar").names(), (std::vector<std::string>{"1.jpg", "1.txt"}))
      << "pieces that were written already are taken back";
  EXPECT_EQ(output("b.tar").members.size(), 6u);
  const auto rows = test::read_rows(folder_ / "out/a.tar.jsonl");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1]["name"], "2.jpg");
  EXPECT_EQ(rows[1]["error_class"], "cancelled");
  EXPECT_EQ(rows[2]["name"], "2.bin");
  EXPECT_EQ(rows[2]["error_class"], "io_error");
}

// A server that is killed, memory that runs out: the shard is not written, and made later.
TEST_F(ShardsRun, WhatIsNoFaultOfAPictureLeavesItsShardToABatchThatResumes) {
  for (const char* name : {"a.tar", "b.tar", "c.tar", "d.tar", "e.tar"}) make_shard(name, 3, 10);
  std::map<std::string, StatusCode> codes = {{"a.tar", StatusCode::kPeerLost},
                                             {"b.tar", StatusCode::kBusy},
                                             {"c.tar", StatusCode::kCancelled},
                                             {"d.tar", StatusCode::kDeviceLost},
                                             {"e.tar", StatusCode::kDeadline}};
  hooks_.resize = [&](std::span<const std::uint8_t>, const ResizeOptions&) -> Result<Resized> {
    return fail(codes.begin()->second, "no picture's fault");
  };
  options_.resume = true;
  while (!codes.empty()) {
    const auto [shard, code] = *codes.begin();
    errors_.clear();
    run({shard});
    if (code == StatusCode::kDeadline) {
      EXPECT_EQ(totals_.written, 1u) << "--deadline is a property of the picture";
      EXPECT_EQ(totals_.unreachable, 0u);
      return;
    }
    EXPECT_EQ(totals_.written, 0u) << shard;
    EXPECT_EQ(totals_.failed, 1u);
    EXPECT_EQ(totals_.unreachable, 1u);
    ASSERT_EQ(errors_.size(), 1u);
    EXPECT_EQ(errors_[0].code(), code);
    EXPECT_THAT(errors_[0].to_string(), HasSubstr("out/" + shard + ": is not made"));
    EXPECT_FALSE(test::fs::exists(folder_ / ("out/" + shard + ".jsonl")));
    const auto failing = hooks_.resize;
    hooks_.resize = twice;
    EXPECT_EQ(run({shard}).ok, 3u);
    EXPECT_EQ(totals_.written, 1u);
    hooks_.resize = failing;
    codes.erase(codes.begin());
  }
}

// Before a picture's turn came --deadline was over: it may do when there is less to do.
TEST_F(ShardsRun, ADeadlineThatRanOutInAQueueIsNoFaultOfAPicture) {
  make_shard("a.tar", 3, 10);
  hooks_.resize = [](std::span<const std::uint8_t>, const ResizeOptions&) -> Result<Resized> {
    return fail(Status(StatusCode::kDeadline, "30 ms passed").about("queue"));
  };
  options_.resume = true;
  const Summary summary = run({"a.tar"});
  EXPECT_FALSE(summary.stopped_by);
  EXPECT_EQ(summary.errors.count("deadline"), 0u);
  EXPECT_EQ(totals_.written, 0u);
  EXPECT_EQ(totals_.unreachable, 1u);
  ASSERT_EQ(errors_.size(), 1u);
  EXPECT_EQ(errors_[0].code(), StatusCode::kBusy);
  EXPECT_THAT(errors_[0].to_string(), HasSubstr("30 ms passed"));
  hooks_.resize = twice;
  EXPECT_EQ(run({"a.tar"}).ok, 3u);
  EXPECT_EQ(totals_.written, 1u);
}

// What is no part of a sample is written as it comes, too: a sample does not wait for ever.
TEST_F(ShardsRun, ALongRunOfFoldersBehindASampleIsWrittenAsItComes) {
  Archive archive;
  archive.file("1.jpg", picture(1, 10));
  for (int i = 0; i < 60'000; ++i) archive.header("folder/", '5', "00000000000");
  archive.file("2.jpg", picture(2, 10)).end();
  test::write_file(folder_ / "a.tar", archive.bytes);
  EXPECT_EQ(run({"a.tar"}).ok, 2u);
  EXPECT_EQ(output("a.tar").members.size(), 60'002u);
  EXPECT_EQ(totals_.samples, 2u);
  EXPECT_EQ(totals_.damaged, 0u);
}

TEST_F(ShardsRun, WhatFollowsTheEndConcernsNoSample) {
  Archive archive;
  archive.file("0.jpg", picture(1, 10)).file("1.png", "another picture").file("1.txt", "text");
  archive.end();
  archive.bytes.push_back('x');
  test::write_file(folder_ / "a.tar", archive.bytes);
  EXPECT_EQ(run({"a.tar"}).failed, 1u);
  EXPECT_EQ(output("a.tar").members.size(), 3u);
  EXPECT_EQ(totals_.samples, 2u);
  EXPECT_EQ(totals_.damaged, 1u);
}

TEST_F(ShardsRun, ALongRunOfOtherMembersIsWrittenAsItComes) {
  Archive archive;
  for (int i = 0; i < 5000; ++i) archive.file(std::to_string(i) + ".txt", "text");
  archive.file("5000.jpg", picture(1, 10)).end();
  test::write_file(folder_ / "a.tar", archive.bytes);
  EXPECT_EQ(run({"a.tar"}).ok, 1u);
  EXPECT_EQ(output("a.tar").members.size(), 5001u);
  EXPECT_EQ(totals_.samples, 5001u);
}

// The output has the global header, too: it must not win there where it did not in the input.
TEST_F(ShardsRun, GlobalPaxHeadersLeavePicturesTheirOwnAttributes) {
  Archive archive;
  archive.pax("mtime", "2000", 'g').pax("mtime", "3000").file("a.jpg", picture(0, 100));
  archive.file("b.jpg", picture(1, 100)).pax("uname", "own").file("c.jpg", picture(2, 100));
  test::write_file(folder_ / "a.tar", archive.end().bytes);
  EXPECT_EQ(run({"a.tar"}).ok, 3u);
  const auto before = walk(test::read_file(folder_ / "a.tar"));
  const auto after = output("a.tar");
  ASSERT_EQ(after.names(), before.names());
  for (std::size_t i = 1; i < after.members.size(); ++i) {
    EXPECT_EQ(after.members[i].header.mtime_s, before.members[i].header.mtime_s) << i;
    EXPECT_EQ(after.members[i].header.user_name, before.members[i].header.user_name) << i;
  }
  EXPECT_EQ(after.members[1].header.mtime_s, 3000);
  EXPECT_EQ(after.members[2].header.mtime_s, 2000);
}

TEST_F(ShardsRun, SlashesBehindTheOutputFolderAreNotShown) {
  make_shard("a.tar", 1, 100);
  options_.outputs += "//";
  run({"a.tar"});
  ASSERT_EQ(rows_.size(), 1u);
  EXPECT_EQ(rows_[0].output, std::string(folder_ / "out/a.tar") + ": 1000.jpg");
}

TEST_F(ShardsRun, AShardThatIsMissingIsARow) {
  make_shard("b.tar", 2, 10);
  const Summary summary = run({"a.tar", "b.tar"});
  EXPECT_EQ(summary.failed, 1u);
  EXPECT_EQ(summary.ok, 2u);
  EXPECT_EQ(totals_.failed, 1u);
  EXPECT_EQ(totals_.written, 1u);
}

TEST_F(ShardsRun, AShardThatAnotherProcessGaveUpIsMadeInTheEnd) {
  for (const char* name : {"a.tar", "b.tar"}) make_shard(name, 3, 10);
  // More than are listed ahead: the last is, once the first has been made.
  make_shard("c.tar", 20, 10);
  const auto claim = [&](const std::string& shard) {
    const std::string path = folder_ / ("out/.framewire-" + shard + ".tmp");
    base::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT, 0600));
    EXPECT_EQ(::flock(file.get(), LOCK_EX), 0);
    return file;
  };
  test::fs::create_directory(folder_ / "out");
  base::FileDescriptor given_up = claim("a.tar");
  const base::FileDescriptor kept = claim("b.tar");
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    given_up = {};
    return twice(jpeg, options);
  };
  settings_.jobs = 1;
  EXPECT_EQ(run({"a.tar", "b.tar", "c.tar"}).ok, 23u);
  EXPECT_EQ(totals_.written, 2u);
  EXPECT_EQ(totals_.elsewhere, 1u);
  EXPECT_EQ(output("a.tar").members.size(), 6u);
}

TEST_F(ShardsRun, WhatFailedOnceMoreInAnotherProcessIsNotTriedAgain) {
  make_shard("a.tar", 3, 10);
  std::atomic<int> tried{0};
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg,
                      const ResizeOptions& options) -> Result<Resized> {
    ++tried;
    if (jpeg[3] == '1') return fail(StatusCode::kInvalidInput, "is none");
    return twice(jpeg, options);
  };
  EXPECT_EQ(run({"a.tar"}).failed, 1u);
  options_.resume = options_.retry_failed = true;
  // Long enough for the coarsest clock of a file system's times.
  const auto let_time_pass = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  let_time_pass();
  const auto one = open({"a.tar"});
  const auto other = open({"a.tar"});
  let_time_pass();
  EXPECT_EQ(run(one).failed, 1u);
  EXPECT_EQ(totals_.written, 1u);
  EXPECT_EQ(tried, 6);
  EXPECT_EQ(run(other).failed, 0u);
  EXPECT_EQ(totals_.elsewhere, 1u);
  EXPECT_EQ(tried, 6);
  let_time_pass();
  EXPECT_EQ(run({"a.tar"}).failed, 1u) << "a later run tries";
}

TEST_F(ShardsRun, AStopLeavesWholeShardsAlone) {
  for (const char* name : {"a.tar", "b.tar", "c.tar"}) make_shard(name, 50, 100);
  with_.on_row = [this](const Row&) {
    rows_.emplace_back();
    if (rows_.size() == 75) stop_ = true;
  };
  const Summary summary = run({"a.tar", "b.tar", "c.tar"});
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(totals_.written, 1u);
  const auto tree = test::read_tree(folder_ / "out");
  EXPECT_EQ(tree.size(), 2u);
  EXPECT_TRUE(tree.contains("a.tar") && tree.contains("a.tar.jsonl"));
}

}  // namespace
}  // namespace framewire::batch
