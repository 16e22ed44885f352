// Batches with faults put in: what is done, what is recorded, and when they stop.
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <batch/runner.hpp>
#include <chrono>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include "support.hpp"

namespace framewire::batch {
namespace {

using test::Bytes;
using test::TemporaryFolder;
namespace fs = std::filesystem;

constexpr std::uint8_t kSoi[] = {0xFF, 0xD8};

// Any function of the input will do: the runner knows nothing of pixels.
Result<Resized> fake_resize(std::span<const std::uint8_t> jpeg, const ResizeOptions&) {
  Resized resized;
  resized.bytes.assign(jpeg.rbegin(), jpeg.rend());
  resized.report.codec = CodecKind::kTurbo;
  resized.report.input.width_px = 8;
  resized.report.output.width_px = 4;
  return resized;
}

/// A batch over a folder of numbered inputs, of which every hook may be replaced.
class BatchRun : public ::testing::Test {
 protected:
  BatchRun() {
    settings_.output_folder = folder_ / "out";
    hooks_.resize = fake_resize;
    hooks_.write = [](const std::string& path, std::span<const std::uint8_t> bytes) {
      return write_atomically(path, bytes, Durability::kNone);
    };
    hooks_.on_row = [this](const Row& row) { rows_.push_back(row); };
  }

  void make_inputs(int count) {
    for (int i = 0; i < count; ++i) {
      Bytes bytes(kSoi, kSoi + 2);
      bytes.resize(static_cast<std::size_t>(10 + i), static_cast<std::uint8_t>(i));
      test::write_file(input(i), bytes);
    }
  }

  [[nodiscard]] std::string name(int i) const {
    return (i % 3 == 0 ? "sub/" : "") + std::to_string(1000 + i) + ".jpg";
  }
  [[nodiscard]] std::string input(int i) const { return folder_ / ("in/" + name(i)); }
  [[nodiscard]] std::string manifest() const { return folder_ / "m.jsonl"; }

  Summary run(bool with_manifest = false, bool resume = false) {
    rows_.clear();
    auto source = open_folder(folder_ / "in", {});
    EXPECT_TRUE(source);
    Records records;
    std::optional<ManifestWriter> writer;
    std::optional<DoneIndex> done;
    if (with_manifest) {
      auto opened =
          ManifestWriter::open(manifest(), resume ? OpenManifest::kResume : OpenManifest::kNew);
      EXPECT_TRUE(opened);
      writer.emplace(std::move(*opened));
      records.manifest = &*writer;
    }
    if (resume) {
      auto read = DoneIndex::read(manifest());
      EXPECT_TRUE(read);
      done = std::move(*read);
      records.done = &*done;
    }
    auto summary = batch::run(**source, settings_, hooks_, records, interrupt_);
    EXPECT_TRUE(summary);
    return summary ? *summary : Summary{};
  }

  [[nodiscard]] std::set<std::string> rows_with(Outcome outcome) const {
    std::set<std::string> found;
    for (const Row& row : rows_) {
      if (row.outcome == outcome) found.insert(row.name);
    }
    return found;
  }

  const TemporaryFolder folder_;
  Settings settings_;
  Hooks hooks_;
  std::vector<Row> rows_;
  std::atomic<bool> interrupt_{false};
};

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
    settings_.output_folder = folder_ / ("out" + std::to_string(jobs));
    run();
    std::set<std::string> rows;
    for (Row row : rows_) {
      row.ms = 0;
      row.output.clear();  // holds the folder, which differs here
      rows.insert(to_json_line(row));
    }
    const auto outputs = test::read_tree(settings_.output_folder);
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
  hooks_.resize = [](auto jpeg, const ResizeOptions& options) -> Result<Resized> {
    if (jpeg.size() == 13) return fail(StatusCode::kInvalidInput, "broken");
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
  hooks_.write = [&](const std::string& path, std::span<const std::uint8_t> bytes) -> WriteResult {
    if (++writes > 5) {
      return tl::unexpected<WriteError>({io_error(path, "write", ENOSPC), true});
    }
    return write_atomically(path, bytes, Durability::kNone);
  };
  const Summary summary = run(true);
  EXPECT_EQ(summary.ok, 5u);
  EXPECT_GE(summary.failed, 1u);
  EXPECT_LE(summary.failed, 2u) << "each job may meet it once";
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->code(), StatusCode::kIoError);
  EXPECT_NE(summary.stopped_by->message().find("No space left"), std::string::npos);

  // With space again, a resumed batch does all the rest and nothing twice.
  hooks_.write = [](const std::string& path, std::span<const std::uint8_t> bytes) {
    return write_atomically(path, bytes, Durability::kNone);
  };
  const Summary resumed = run(true, true);
  EXPECT_EQ(resumed.unchanged, 5u);
  EXPECT_EQ(resumed.ok, 195u);
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
  std::atomic<int> begun{0};
  hooks_.resize = [&](auto jpeg, const ResizeOptions& options) {
    if (++begun == 10) interrupt_ = true;
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
  hooks_.resize = [&](auto jpeg, const ResizeOptions& options) {
    const int in_work = ++now;
    int seen = most;
    while (in_work > seen && !most.compare_exchange_weak(seen, in_work)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --now;
    return fake_resize(jpeg, options);
  };
  run();
  EXPECT_EQ(most, 3) << "neither more than allowed nor fewer than asked for";
}

TEST_F(BatchRun, AWorkerHandsOverSeveralImagesAtOnce) {
  make_inputs(60);
  test::write_text(folder_ / "in/liar.jpg", "words");
  settings_.jobs = 2;
  settings_.group = 8;
  std::atomic<std::size_t> largest{0};
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions& options) {
    std::size_t seen = largest;
    while (jpegs.size() > seen && !largest.compare_exchange_weak(seen, jpegs.size())) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the queue fills meanwhile
    std::vector<Result<Resized>> results;
    for (const auto jpeg : jpegs) {
      if (jpeg.size() % 5 == 0) {
        results.push_back(fail(StatusCode::kDeadline, "too slow"));
      } else {
        results.push_back(fake_resize(jpeg, options));
      }
    }
    return [results] { return results; };
  };
  hooks_.resize = [](auto jpeg, const ResizeOptions& options) -> Result<Resized> {
    if (jpeg.size() % 5 == 0) return fail(StatusCode::kDeadline, "too slow");
    return fake_resize(jpeg, options);
  };
  const Summary grouped = run(true);
  EXPECT_GT(largest, 1u);
  EXPECT_LE(largest, 8u);
  EXPECT_EQ(grouped.inputs, 61u);
  EXPECT_EQ(grouped.errors.at("deadline"), 12u);
  EXPECT_EQ(grouped.errors.at("invalid_input"), 1u);
  const auto files = test::read_tree(folder_ / "out");
  fs::remove_all(folder_ / "out");
  settings_.group = 1;
  hooks_.begin_all = nullptr;
  EXPECT_EQ(run().ok, grouped.ok);
  EXPECT_EQ(test::read_tree(folder_ / "out"), files);
}

std::vector<Result<Resized>> fake_resize_all(
    const std::vector<std::span<const std::uint8_t>>& jpegs) {
  std::vector<Result<Resized>> results;
  for (const auto jpeg : jpegs) results.push_back(fake_resize(jpeg, {}));
  return results;
}

/// Images that are made while the worker goes on: whoever waits for them makes them.
struct Made {
  std::vector<std::span<const std::uint8_t>> jpegs;
  std::atomic<int>& waiting;
  std::vector<Result<Resized>> operator()() const {
    --waiting;
    return fake_resize_all(jpegs);
  }
};

TEST_F(BatchRun, AWorkerReadsOnWhileImagesAreMade) {
  make_inputs(60);
  settings_.group = 4;
  std::atomic<int> waiting{0};
  int most = 0;
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions&) {
    most = std::max(most, ++waiting);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the queue fills meanwhile
    return Made{{jpegs.begin(), jpegs.end()}, waiting};
  };
  EXPECT_EQ(run(true).ok, 60u);
  EXPECT_EQ(most, 2) << "one group in the making while another is read, and no more";
  EXPECT_EQ(waiting, 0);
  for (int i = 0; i < 60; ++i) {
    Bytes expected = test::read_file(input(i));
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(test::read_file(folder_ / ("out/" + name(i))), expected) << i;
  }
}

TEST_F(BatchRun, FilesThatAreHandedOverTogetherLieInOneMemory) {
  make_inputs(40);
  Bytes large(13 << 20, 7);  // more than a group's memory
  std::copy(kSoi, kSoi + 2, large.begin());
  test::write_file(input(40), large);
  settings_.group = 8;
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  std::vector<std::span<const std::uint8_t>> memories;
  hooks_.input_memory = [&](std::size_t bytes) {
    auto memory = engine->input_memory(bytes);
    if (memory) memories.push_back(memory->bytes());
    return memory;
  };
  const auto inside = [&](std::span<const std::uint8_t> jpeg) {
    const auto& memory = memories.back();
    return jpeg.data() >= memory.data() && jpeg.data() < memory.data() + memory.size();
  };
  int large_ones = 0;
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions&) {
    const std::uint8_t* end = memories.back().data();
    for (const auto& jpeg : jpegs) {
      const bool too_large = jpeg.size() == large.size();
      EXPECT_EQ(inside(jpeg), !too_large);
      if (too_large) {
        ++large_ones;
      } else {
        EXPECT_EQ(std::exchange(end, jpeg.data() + jpeg.size()), jpeg.data());
      }
    }
    return [results = fake_resize_all({jpegs.begin(), jpegs.end()})] { return results; };
  };
  EXPECT_EQ(run().ok, 41u);
  EXPECT_EQ(large_ones, 1);
  for (int i = 0; i < 41; ++i) {
    Bytes expected = test::read_file(input(i));
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(test::read_file(folder_ / ("out/" + name(i))), expected) << i;
  }
  fs::remove_all(folder_ / "out");
  hooks_.input_memory = [](std::size_t) -> Result<InputMemory> {
    return fail(StatusCode::kBusy, "none left");
  };
  hooks_.begin_all = [](auto jpegs, const ResizeOptions&) {
    return [results = fake_resize_all({jpegs.begin(), jpegs.end()})] { return results; };
  };
  EXPECT_EQ(run().ok, 41u) << "each file then has memory of its own";
}

TEST_F(BatchRun, WhatIsBeingMadeIsFinishedAtAnEarlyEnd) {
  make_inputs(100);
  settings_.group = 4;
  std::atomic<int> waiting{0};
  int begun = 0;
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions&) {
    ++waiting;
    begun += static_cast<int>(jpegs.size());
    if (begun >= 20) interrupt_ = true;
    return Made{{jpegs.begin(), jpegs.end()}, waiting};
  };
  const Summary summary = run(true);
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(summary.ok, static_cast<std::uint64_t>(begun));
  EXPECT_LE(begun, 23);
  EXPECT_EQ(waiting, 0);
  EXPECT_EQ(test::read_tree(folder_ / "out").size(), summary.ok);
}

TEST_F(BatchRun, WhatIsThrownForAGroupIsTheResultOfEachOfItsImages) {
  make_inputs(8);
  settings_.group = 4;
  int groups = 0;
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions&) -> PendingResults {
    if (++groups == 1) return []() -> std::vector<Result<Resized>> { throw std::bad_alloc(); };
    return [results = fake_resize_all({jpegs.begin(), jpegs.end()})] { return results; };
  };
  const Summary summary = run();
  EXPECT_EQ(summary.inputs, 8u);
  EXPECT_GE(summary.errors.at("busy"), 1u);
  EXPECT_EQ(summary.ok, 8u - summary.errors.at("busy"));
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
  EXPECT_EQ(summary.errors.at("invalid_input"), 3u);
}

TEST_F(BatchRun, AnInputIsNotReplacedByItsOutput) {
  make_inputs(3);
  const auto before = test::read_tree(folder_ / "in");
  fs::create_directory_symlink("in", folder_ / "out");
  EXPECT_EQ(run().failed, 3u);
  EXPECT_EQ(test::read_tree(folder_ / "in"), before);
  settings_.allow_in_place = true;
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
  hooks_.on_progress = [&](const Progress& progress) { seen.push_back(progress); };
  hooks_.resize = [](auto jpeg, const ResizeOptions& options) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return fake_resize(jpeg, options);
  };
  auto source = open_folder(folder_ / "in", {});
  auto ahead = open_folder(folder_ / "in", {});
  Records records;
  records.count_ahead = ahead->get();
  ASSERT_TRUE(batch::run(**source, settings_, hooks_, records, interrupt_));
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
  auto writer = ManifestWriter::open("/dev/full", OpenManifest::kNew);
  if (!writer) GTEST_SKIP() << "no /dev/full here";
  Records records;
  records.manifest = &*writer;
  const auto summary = batch::run(**source, settings_, hooks_, records, interrupt_);
  ASSERT_TRUE(summary);
  ASSERT_TRUE(summary->stopped_by);
  EXPECT_EQ(summary->stopped_by->subject(), "/dev/full");
  EXPECT_LT(summary->inputs, 50u);
}

}  // namespace
}  // namespace framewire::batch
