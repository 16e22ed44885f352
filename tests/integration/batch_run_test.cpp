// Batches with faults put in: what is done, what is recorded, and when they stop.
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <batch/atomic_file.hpp>
#include <batch/posix_file.hpp>
#include <chrono>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <tests/integration/batch_run.hpp>
#include <thread>

namespace framewire::batch {
namespace {

namespace fs = std::filesystem;

TEST_F(BatchRun, EveryInputHasOneRowAndOneOutput) {
  make_inputs(20);
  settings_.jobs = 3;
  const Summary summary = run(true);
  EXPECT_EQ(summary.ok, 20u);
  EXPECT_EQ(summary.inputs, 20u);
  EXPECT_EQ(rows_with(Outcome::kOk).size(), 20u);
  const auto outputs = test::read_tree(folder_ / "out");
  EXPECT_EQ(outputs.size(), 20u);
  for (int i = 0; i < 20; ++i) {
    Bytes expected = test::read_file(input(i));
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(outputs.at(name(i)), expected) << name(i);
  }
  EXPECT_EQ(test::read_rows(manifest()).size(), 20u);
}

TEST_F(BatchRun, OutputsAndRowsDoNotDependOnJobs) {
  make_inputs(30);
  std::map<std::string, Bytes> first_outputs;
  std::set<std::string> first_rows;
  for (const unsigned jobs : {1u, 2u, 8u}) {
    settings_.jobs = jobs;
    output_folder_ = folder_ / ("out" + std::to_string(jobs));
    run();
    std::set<std::string> rows;
    for (Row row : rows_) {
      row.ms = 0;
      row.output.clear();  // holds the folder, which differs here
      rows.insert(to_json_line(row));
    }
    const auto outputs = test::read_tree(output_folder_);
    if (jobs == 1) {
      first_outputs = outputs;
      first_rows = rows;
    }
    EXPECT_EQ(outputs, first_outputs) << jobs << " jobs";
    EXPECT_EQ(rows, first_rows) << jobs << " jobs";
    EXPECT_EQ(rows.size(), 30u);
  }
}

TEST_F(BatchRun, ShardsMakeTheWholeTogether) {
  make_inputs(40);
  std::set<std::string> together;
  for (std::uint32_t index = 0; index < 3; ++index) {
    settings_.shard = {index, 3};
    const Summary summary = run();
    EXPECT_EQ(summary.inputs, rows_.size());
    for (const Row& row : rows_) EXPECT_TRUE(together.insert(row.name).second) << row.name;
  }
  EXPECT_EQ(together.size(), 40u);
}

TEST_F(BatchRun, OneBadInputIsOneFailedRow) {
  make_inputs(5);
  hooks_.resize = [](auto jpeg, const ResizeOptions& options) -> Result<Resized> {
    if (jpeg.size() == 12) {
      return fail(Status(StatusCode::kUnsupported, "12 bits").about("SOF").at(7));
    }
    return fake_resize(jpeg, options);
  };
  const Summary summary = run();
  EXPECT_EQ(summary.ok, 4u);
  EXPECT_EQ(summary.failed, 1u);
  EXPECT_EQ(summary.errors.at("unsupported"), 1u);
  EXPECT_FALSE(summary.stopped_by);
  EXPECT_EQ(rows_with(Outcome::kFailed), std::set<std::string>{name(2)});
  const auto failed = std::find_if(rows_.begin(), rows_.end(), [](auto& row) { return row.error; });
  EXPECT_EQ(failed->error->to_string(), "unsupported: " + input(2) + ": SOF: 12 bits (at byte 7)");
  EXPECT_FALSE(fs::exists(folder_ / ("out/" + name(2))));
}

TEST_F(BatchRun, OnErrorFailStopsEarly) {
  make_inputs(200);
  settings_.stop_on_error = true;
  std::atomic<bool> failed{false};
  hooks_.resize = [&](auto jpeg, const ResizeOptions& options) -> Result<Resized> {
    if (jpeg.size() == 13) {
      failed = true;
      return fail(StatusCode::kInvalidInput, "broken");
    }
    // So that the error is heard of before all others have been made.
    if (failed) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return fake_resize(jpeg, options);
  };
  const Summary summary = run();
  EXPECT_EQ(summary.failed, 1u);
  EXPECT_LT(summary.inputs, 200u);
  EXPECT_FALSE(summary.stopped_by) << "a bad input is no fault of the environment";
}

TEST_F(BatchRun, FullDiskStopsTheBatchAndIsTheReason) {
  make_inputs(200);
  settings_.jobs = 2;
  std::atomic<int> writes{0};
  commit_ = [&](const Output& output, std::span<const std::uint8_t> bytes) -> WriteResult {
    if (++writes > 5) {
      return tl::unexpected<WriteError>({io_error(output.label, "write", ENOSPC), true});
    }
    return write_atomically(output.label, bytes, Durability::kNone);
  };
  const Summary summary = run(true);
  EXPECT_EQ(summary.ok, 5u);
  EXPECT_GE(summary.failed, 1u);
  EXPECT_LE(summary.failed, 2u) << "each job may meet it once";
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->code(), StatusCode::kIoError);
  EXPECT_NE(summary.stopped_by->message().find("No space left"), std::string::npos);

  // With space again, a resumed batch does all the rest and nothing twice.
  commit_ = nullptr;
  const Summary resumed = run(true, true);
  EXPECT_EQ(resumed.unchanged, 5u);
  EXPECT_EQ(resumed.ok, 195u);
}

TEST_F(BatchRun, AServerThatIsLostStopsTheBatchAndTheRestIsLeftForAnother) {
  make_inputs(200);
  for (const StatusCode code : {StatusCode::kPeerLost, StatusCode::kCancelled}) {
    std::atomic<int> calls{0};
    hooks_.resize = [&](auto jpeg, const ResizeOptions& options) -> Result<Resized> {
      if (++calls > 3) return fail(code, "the server is gone");
      return fake_resize(jpeg, options);
    };
    rows_.clear();
    const Summary summary = run(true, fs::exists(manifest()));
    ASSERT_TRUE(summary.stopped_by);
    EXPECT_EQ(summary.stopped_by->code(), code);
    EXPECT_EQ(summary.ok, 3u);
    EXPECT_EQ(calls, 4);
  }
  hooks_.resize = fake_resize;
  const Summary rest = run(true, true);
  EXPECT_FALSE(rest.stopped_by);
  EXPECT_EQ(rest.ok, 194u);
  EXPECT_EQ(test::read_tree(folder_ / "out").size(), 200u);
}

TEST_F(BatchRun, AWriteErrorOfOneFileStopsNothing) {
  make_inputs(10);
  test::write_text(folder_ / "out/sub", "a file where a folder should be");
  const Summary summary = run();
  EXPECT_EQ(summary.failed, 4u);
  EXPECT_EQ(summary.ok, 6u);
  EXPECT_EQ(summary.errors.at("io_error"), 4u);
  EXPECT_FALSE(summary.stopped_by);
}

TEST_F(BatchRun, ExceptionsAndLackOfMemoryAreRows) {
  make_inputs(4);
  hooks_.resize = [](auto jpeg, const ResizeOptions& options) -> Result<Resized> {
    if (jpeg.size() == 11) throw std::bad_alloc();
    if (jpeg.size() == 12) throw std::runtime_error("surprise");
    return fake_resize(jpeg, options);
  };
  const Summary summary = run();
  EXPECT_EQ(summary.ok, 2u);
  EXPECT_EQ(summary.errors.at("busy"), 1u);
  EXPECT_EQ(summary.errors.at("internal"), 1u);
}

TEST_F(BatchRun, InterruptFinishesWhatIsInWork) {
  make_inputs(100);
  settings_.jobs = 2;
  int begun = 0;
  std::mutex mutex;
  hooks_.resize = [&](auto jpeg, const ResizeOptions& options) {
    {
      const std::lock_guard lock(mutex);
      if (++begun == 10) interrupt_ = true;
    }
    return fake_resize(jpeg, options);
  };
  const Summary summary = run(true);
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(summary.ok, static_cast<std::uint64_t>(begun)) << "begun, but not finished";
  EXPECT_LE(begun, 12);
  EXPECT_EQ(test::read_tree(folder_ / "out").size(), summary.ok);
  EXPECT_EQ(test::read_rows(manifest()).size(), summary.ok);
  interrupt_ = false;
  EXPECT_EQ(run(true, true).ok, 100 - summary.ok);
}

TEST_F(BatchRun, NeverMoreImagesInWorkThanJobs) {
  make_inputs(40);
  settings_.jobs = 3;
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  hooks_.resize = [&](auto jpeg, const ResizeOptions& options) {
    const int in_work = ++now;
    int seen = most;
    while (in_work > seen && !most.compare_exchange_weak(seen, in_work)) {
    }
    // The first ones wait for all who may begin beside them.
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } while (most < 3 && std::chrono::steady_clock::now() < end);
    --now;
    return fake_resize(jpeg, options);
  };
  run();
  EXPECT_EQ(most, 3) << "neither more than allowed nor fewer than asked for";
}

TEST_F(BatchRun, ResumeRedoesOnlyWhatIsMissingFailedOrChanged) {
  make_inputs(10);
  EXPECT_EQ(run(true).ok, 10u);
  EXPECT_EQ(run(true, true).unchanged, 10u);

  fs::remove(folder_ / ("out/" + name(1)));                            // missing
  test::write_text(folder_ / ("out/" + name(2)), "cut");               // of another size
  test::write_file(input(4), Bytes{0xFF, 0xD8, 1, 2, 3, 4, 5, 6, 7});  // changed input
  const auto touched = fs::last_write_time(input(5)) + std::chrono::seconds(5);
  fs::last_write_time(input(5), touched);  // same content at another time
  const Summary summary = run(true, true);
  EXPECT_EQ(rows_with(Outcome::kOk), (std::set<std::string>{name(1), name(2), name(4)}));
  EXPECT_EQ(summary.unchanged, 7u);

  settings_.options.quality = 50;  // other options make other outputs
  EXPECT_EQ(run(true, true).ok, 10u);
  settings_.options.limits.deadline_ms = 1;  // limits do not
  EXPECT_EQ(run(true, true).unchanged, 10u);
}

TEST_F(BatchRun, FailedRowsAreTriedAgain) {
  make_inputs(6);
  bool broken = true;
  hooks_.resize = [&](auto jpeg, const ResizeOptions& options) -> Result<Resized> {
    if (broken && jpeg.size() % 2 == 0) return fail(StatusCode::kDeadline, "too slow");
    return fake_resize(jpeg, options);
  };
  EXPECT_EQ(run(true).failed, 3u);
  broken = false;
  const Summary summary = run(true, true);
  EXPECT_EQ(summary.ok, 3u);
  EXPECT_EQ(summary.unchanged, 3u);
}

TEST_F(BatchRun, ForeignFilesAreSkippedUnlessTheyPromiseJpeg) {
  make_inputs(2);
  test::write_text(folder_ / "in/readme.txt", "words");
  test::write_text(folder_ / "in/liar.jpg", "words");
  test::write_text(folder_ / "in/empty.jpeg", "");
  test::write_file(folder_ / "in/photo.dat", Bytes{0xFF, 0xD8, 0});
  const Summary summary = run();
  EXPECT_EQ(summary.ok, 3u) << "content counts, not the name";
  EXPECT_EQ(rows_with(Outcome::kSkipped), std::set<std::string>{"readme.txt"});
  EXPECT_EQ(rows_with(Outcome::kFailed), (std::set<std::string>{"empty.jpeg", "liar.jpg"}));
  EXPECT_EQ(summary.errors.at("invalid_input"), 2u);
}

TEST_F(BatchRun, AnInputIsNotReplacedByItsOutput) {
  make_inputs(3);
  const auto before = test::read_tree(folder_ / "in");
  fs::create_directory_symlink("in", folder_ / "out");
  EXPECT_EQ(run().failed, 3u);
  EXPECT_EQ(test::read_tree(folder_ / "in"), before);
  output_.in_place = true;
  EXPECT_EQ(run().ok, 3u);
  EXPECT_NE(test::read_tree(folder_ / "in"), before);
}

TEST_F(BatchRun, TooLargeFilesAreNotRead) {
  make_inputs(5);
  settings_.options.limits.max_input_bytes = 12;
  const Summary summary = run();
  EXPECT_EQ(summary.ok, 3u);
  EXPECT_EQ(summary.errors.at("too_large"), 2u);
}

TEST_F(BatchRun, ProgressEndsAtTheTotal) {
  make_inputs(25);
  test::write_text(folder_ / "in/readme.txt", "words");
  std::vector<Progress> seen;
  with_.on_progress = [&](const Progress& progress) { seen.push_back(progress); };
  hooks_.resize = [](auto jpeg, const ResizeOptions& options) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return fake_resize(jpeg, options);
  };
  auto source = open_folder(folder_ / "in", {});
  auto ahead = open_folder(folder_ / "in", {});
  with_.count_ahead = ahead->get();
  ASSERT_TRUE(batch::run(**source, *open_sink(), hooks_, settings_, with_));
  ASSERT_GE(seen.size(), 3u) << "begin, something in between, end";
  EXPECT_EQ(seen.front().handled, 0u);
  EXPECT_EQ(seen.back().handled, 26u);
  EXPECT_EQ(seen.back().total, 26u);
  EXPECT_EQ(seen.back().remaining_seconds, 0.0);
  const Progress& middle = seen[seen.size() / 2];
  ASSERT_TRUE(middle.remaining_seconds);
  EXPECT_GT(middle.images_per_second, 0);
  EXPECT_NEAR(*middle.remaining_seconds,
              static_cast<double>(26 - middle.handled) / middle.images_per_second, 1e-9);
}

TEST_F(BatchRun, AManifestThatCannotBeWrittenStopsTheBatch) {
  make_inputs(50);
  auto source = open_folder(folder_ / "in", {});
  const auto rows = open_manifest("/dev/full", OpenManifest::kNew);
  if (!rows) GTEST_SKIP() << "no /dev/full here";
  with_.manifest = rows->get();
  const auto summary = batch::run(**source, *open_sink(), hooks_, settings_, with_);
  ASSERT_TRUE(summary);
  ASSERT_TRUE(summary->stopped_by);
  EXPECT_EQ(summary->stopped_by->subject(), "/dev/full");
  EXPECT_LT(summary->inputs, 50u);
}

}  // namespace
}  // namespace framewire::batch
