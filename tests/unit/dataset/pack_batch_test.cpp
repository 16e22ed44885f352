// Packing with hooks in place of an engine: what is slow, lost, stopped or in the way.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <atomic>
#include <base/file_descriptor.hpp>
#include <batch/runner.hpp>
#include <chrono>
#include <dataset/pack_batch.hpp>
#include <dataset/report.hpp>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <new>
#include <optional>
#include <set>
#include <tests/support/archive.hpp>
#include <thread>

namespace framewire::dataset::test {
namespace {

namespace fs = std::filesystem;

/// The output is the input's bytes.
Result<Resized> the_same(std::span<const std::uint8_t> jpeg, const ResizeOptions&) {
  Resized resized;
  resized.bytes.assign(jpeg.begin(), jpeg.end());
  return resized;
}

class PackRun : public ::testing::Test {
 protected:
  PackRun() {
    std::string name = (fs::temp_directory_path() / "framewire-pack-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no folder";
    folder_ = name;
    settings_.jobs = 4;
    settings_.group = 1;
    hooks_.resize = the_same;
    options_.pattern = ShardPattern::parse((folder_ / "out/%04d.tar").string()).value();
    options_.manifests = (folder_ / "out").string();
    options_.shard_bytes = 128 * 1024;
    options_.stop = with_.stop = &stop_;
    with_.on_row = [this](const batch::Row& row) { rows_.push_back(row); };
  }
  ~PackRun() override {
    std::error_code error;
    fs::remove_all(folder_, error);
  }

  void make_pictures(int count, std::size_t bytes) const {
    fs::create_directories(folder_ / "in");
    for (int i = 0; i < count; ++i) {
      std::ofstream file(folder_ / fmt::format("in/{:04}.jpg", i), std::ios::binary);
      file << fmt::format("\xFF\xD8\xFF{:04}.{}", i, std::string(bytes, 'x'));
    }
  }
  static int number_of(std::span<const std::uint8_t> jpeg) {
    return std::stoi(std::string(jpeg.begin() + 3, jpeg.begin() + 7));
  }
  [[nodiscard]] Result<std::unique_ptr<PackBatch>> open(const PackOptions& options) const {
    return PackBatch::open(
        [this](const std::function<bool(const std::string&)>&) {
          return batch::open_folder((folder_ / "in").string(), {});
        },
        options);
  }
  /// Shards and their manifests.
  void pack_into(const std::string& folder) {
    options_.pattern = ShardPattern::parse((folder_ / folder / "%04d.tar").string()).value();
    options_.manifests = options_.pattern.folder();
  }
  batch::Summary run() {
    const auto pack = open(options_);
    EXPECT_TRUE(pack) << pack.error().to_string();
    if (!pack) return {};
    with_.manifest = &(*pack)->manifest();
    const auto summary = batch::run((*pack)->source(), (*pack)->sink(), hooks_, settings_, with_);
    totals_ = (*pack)->totals();
    EXPECT_TRUE(summary);
    return summary ? *summary : batch::Summary{};
  }
  /// Names of members of all shards, in order.
  [[nodiscard]] std::vector<std::string> packed() const {
    std::vector<std::string> names;
    for (std::uint64_t number = 0;; ++number) {
      std::ifstream file(folder_ / "out" / options_.pattern.name(number), std::ios::binary);
      if (!file) return names;
      const Walk all = walk({std::istreambuf_iterator<char>(file), {}});
      EXPECT_FALSE(all.error);
      for (std::string& name : all.names()) names.push_back(std::move(name));
    }
  }
  /// Names of the failures in the manifests that count, with as many as their last lines say.
  [[nodiscard]] std::vector<std::string> failures() const {
    std::vector<std::string> names;
    ReportOptions reading;
    reading.outputs = reading.manifests = (folder_ / "out").string();
    reading.on_failed = [&](const FailedRow& row) {
      names.push_back(fs::path(row.input).filename().string());
    };
    const auto report = make_report(reading);
    EXPECT_TRUE(report);
    if (!report) return names;
    EXPECT_EQ(report->failed, names.size());
    std::ranges::sort(names);
    return names;
  }
  [[nodiscard]] std::vector<std::string> files_out() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  fs::path folder_;
  batch::Settings settings_;
  batch::Hooks hooks_;
  batch::RunOptions with_;
  PackOptions options_;
  PackTotals totals_;
  std::vector<batch::Row> rows_;
  std::atomic<bool> stop_{false};
};

std::vector<std::string> names_up_to(int count, int without = -1) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    if (i != without) names.push_back(fmt::format("{:04}.jpg", i));
  }
  return names;
}

TEST_F(PackRun, ResultsComeInOrderHoweverTheyAreMade) {
  make_pictures(200, 3000);
  hooks_.resize = [](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    if (number_of(jpeg) % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return the_same(jpeg, options);
  };
  EXPECT_EQ(run().ok, 200u);
  EXPECT_EQ(packed(), names_up_to(200));
  EXPECT_EQ(totals_.samples, 200u);
  EXPECT_EQ(totals_.shards, (files_out().size()) / 2);
  EXPECT_GT(totals_.shards, 4u);
}

TEST_F(PackRun, OnePictureThatTakesLongHoldsUpOthersWithinTheBound) {
  make_pictures(200, 4000);
  options_.waiting_bytes = 32 * 1024;  // eight results
  std::promise<void> go_on;
  const std::shared_future<void> gate = go_on.get_future().share();
  std::atomic<int> made{0};
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    if (number_of(jpeg) == 0) {
      gate.wait();
    } else {
      ++made;
    }
    return the_same(jpeg, options);
  };
  auto running = std::async(std::launch::async, [&] { return run(); });
  int before = -1;
  while (made != before || made == 0) {
    before = made;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  EXPECT_LT(made, 8 + 4 * 4) << "more than what waits, and what was handed out before it was full";
  go_on.set_value();
  EXPECT_EQ(running.get().ok, 200u);
  EXPECT_EQ(packed(), names_up_to(200));
}

// Memory that runs out: the picture is not at fault, and may not be lost.
TEST_F(PackRun, WhatIsNoFaultOfAPictureLeavesItToABatchThatResumes) {
  make_pictures(60, 3000);
  hooks_.resize = [](std::span<const std::uint8_t> jpeg,
                     const ResizeOptions& options) -> Result<Resized> {
    const int number = number_of(jpeg);
    if (number == 7) throw std::bad_alloc();
    if (number == 8) return fail(StatusCode::kInvalidInput, "is bad");
    if (number == 9) return fail(StatusCode::kDeadline, "takes too long");
    if (number == 20) return fail(StatusCode::kDeviceLost, "others go on");
    if (number >= 58) return fail(StatusCode::kBusy, "the server is draining");
    return the_same(jpeg, options);
  };
  EXPECT_EQ(run().failed, 6u);
  EXPECT_EQ(totals_.put_off, 4u);
  EXPECT_EQ(packed().size(), 54u);
  EXPECT_EQ(failures(), (std::vector<std::string>{"0008.jpg", "0009.jpg"}));
  hooks_.resize = the_same;
  options_.resume = true;
  EXPECT_EQ(run().ok, 4u);
  EXPECT_EQ(totals_.put_off, 0u);
  auto names = packed();
  std::ranges::sort(names);
  auto expected = names_up_to(60, 8);
  std::erase(expected, "0009.jpg");
  EXPECT_EQ(names, expected);
}

// A server that is killed: resumed, it is as if it had not been.
TEST_F(PackRun, WhereNobodyMakesPicturesAnyMoreItEndsAndResumes) {
  make_pictures(200, 3000);
  for (const StatusCode code : {StatusCode::kPeerLost, StatusCode::kCancelled}) {
    fs::remove_all(folder_ / "out");
    options_.resume = false;
    std::atomic<int> made{0};
    hooks_.resize = [&](std::span<const std::uint8_t> jpeg,
                        const ResizeOptions& options) -> Result<Resized> {
      if (number_of(jpeg) >= 100) {
        // The first failure ends the batch, whatever another thread has not begun.
        while (made < 100) std::this_thread::yield();
        return fail(code, "the server is gone");
      }
      ++made;
      return the_same(jpeg, options);
    };
    const batch::Summary summary = run();
    ASSERT_TRUE(summary.stopped_by);
    EXPECT_EQ(summary.stopped_by->code(), code);
    EXPECT_LE(packed().size(), 100u);
    EXPECT_GE(packed().size(), 60u);
    EXPECT_THAT(failures(), ::testing::IsEmpty());
    const std::size_t before = files_out().size();
    hooks_.resize = the_same;
    options_.resume = true;
    EXPECT_FALSE(run().stopped_by);
    EXPECT_EQ(packed(), names_up_to(200));
    EXPECT_EQ(totals_.shards, files_out().size() / 2 - before / 2);
    const auto shard = [&](int number) {
      return fs::file_size(folder_ / "out" / options_.pattern.name(number));
    };
    for (int i = 1; i + 1 < static_cast<int>(files_out().size()) / 2; ++i) {
      EXPECT_EQ(shard(i), shard(0)) << "none is cut short";
    }
  }
}

TEST_F(PackRun, AShardInTheWayEndsTheBatchAndStaysWhatItIs) {
  make_pictures(300, 4000);
  options_.waiting_bytes = 64 * 1024;
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    if (number_of(jpeg) == 10) std::ofstream(folder_ / "out/0002.tar") << "somebody's";
    return the_same(jpeg, options);
  };
  const batch::Summary summary = run();
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_NE(summary.stopped_by->to_string().find("0002.tar"), std::string::npos);
  EXPECT_EQ(fs::file_size(folder_ / "out/0002.tar"), 10u);
  EXPECT_THAT(files_out(), ::testing::ElementsAre("0000.tar", "0000.tar.jsonl", "0001.tar",
                                                  "0001.tar.jsonl", "0002.tar"));
}

// Another batch has given its manifest its name, and its shard not yet.
TEST_F(PackRun, AManifestInTheWayEndsTheBatchAndStaysWhatItIs) {
  make_pictures(300, 4000);
  options_.waiting_bytes = 64 * 1024;
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    if (number_of(jpeg) == 10) std::ofstream(folder_ / "out/0002.tar.jsonl") << "somebody's";
    return the_same(jpeg, options);
  };
  const batch::Summary summary = run();
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->code(), StatusCode::kBusy);
  EXPECT_EQ(fs::file_size(folder_ / "out/0002.tar.jsonl"), 10u);
  EXPECT_FALSE(fs::exists(folder_ / "out/0002.tar"));
}

TEST_F(PackRun, OfTwoPatternsThatGiveTheSameNamesTheSecondIsRefused) {
  make_pictures(3, 100);
  std::optional<Status> refused;
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    if (number_of(jpeg) == 0) {
      PackOptions other = options_;
      other.pattern = ShardPattern::parse((folder_ / "out/%d.tar").string()).value();
      refused = open(other).error();
    }
    return the_same(jpeg, options);
  };
  options_.pattern = ShardPattern::parse((folder_ / "out/%01d.tar").string()).value();
  EXPECT_EQ(run().ok, 3u);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), StatusCode::kBusy);
}

// A process that was killed between the two names of a shard, wherever its folder is called what.
TEST_F(PackRun, AManifestWithoutItsShardIsKnownByWhereItLies) {
  make_pictures(100, 4000);
  const std::string odd = "o\xFF";
  for (const std::string& now :
       {std::string("out"), std::string("./out"), std::string("in/../out"), odd, odd + "/./"}) {
    fs::remove_all(folder_ / "out");
    fs::remove_all(folder_ / odd);
    options_.resume = false;
    pack_into(now.starts_with(odd) ? odd : "out");
    ASSERT_EQ(run().ok, 100u);
    ASSERT_TRUE(fs::remove(folder_ / now / "0003.tar"));
    options_.resume = true;
    pack_into(now);
    EXPECT_GT(run().ok, 0u) << now;
    EXPECT_TRUE(fs::exists(folder_ / now / "0003.tar"));
  }
  // It has moved.
  fs::remove(folder_ / odd / "0003.tar");
  fs::rename(folder_ / odd, folder_ / "moved");
  pack_into("moved");
  EXPECT_GT(run().ok, 0u);
}

// Whoever may read it may hold a lock on it.
TEST_F(PackRun, AManifestWithoutItsShardIsReplacedWhoeverReadsIt) {
  make_pictures(100, 4000);
  ASSERT_EQ(run().ok, 100u);
  ASSERT_TRUE(fs::remove(folder_ / "out/0003.tar"));
  const base::FileDescriptor reader(
      ::open((folder_ / "out/0003.tar.jsonl").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(reader.get(), LOCK_EX | LOCK_NB), 0);
  options_.resume = true;
  EXPECT_GT(run().ok, 0u);
  EXPECT_TRUE(fs::exists(folder_ / "out/0003.tar"));
}

// The process that was taken for dead lives, and gives its shard its name.
TEST_F(PackRun, AManifestStaysWhoseShardComesAfterAll) {
  make_pictures(100, 4000);
  ASSERT_EQ(run().ok, 100u);
  const fs::path shard = folder_ / "out/0003.tar";
  const auto manifest = [&] {
    std::ifstream file(folder_ / "out/0003.tar.jsonl");
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const std::string before = manifest();
  fs::rename(shard, folder_ / "aside");
  options_.resume = true;
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    std::error_code error;
    fs::rename(folder_ / "aside", shard, error);
    return the_same(jpeg, options);
  };
  const batch::Summary summary = run();
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->code(), StatusCode::kBusy);
  EXPECT_EQ(manifest(), before);
  EXPECT_TRUE(fs::exists(shard));
  EXPECT_EQ(packed(), names_up_to(100));
}

TEST_F(PackRun, ManifestsOfShardsOfAnotherFolderStay) {
  make_pictures(5, 4000);
  const std::string rows = (folder_ / "rows").string();
  options_.manifests = rows;
  ASSERT_EQ(run().ok, 5u);
  pack_into("out2");
  options_.manifests = rows;
  options_.resume = true;
  const auto refused = open(options_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), ::testing::HasSubstr("is a manifest without its shard"));
  pack_into("rows");
  EXPECT_FALSE(open(options_)) << "the shard's name alone says nothing";
  pack_into("out");
  options_.manifests = rows;
  fs::remove(folder_ / "out/0000.tar");
  EXPECT_EQ(run().ok, 5u);
}

TEST_F(PackRun, StoppedWhileItWaitsItEndsAndResumes) {
  make_pictures(200, 4000);
  options_.waiting_bytes = 16 * 1024;
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    if (number_of(jpeg) == 90) stop_ = true;
    return the_same(jpeg, options);
  };
  EXPECT_TRUE(run().interrupted);
  const std::size_t before = packed().size();
  EXPECT_LE(before, 90u);
  EXPECT_GE(before, 30u);
  stop_ = false;
  hooks_.resize = the_same;
  options_.resume = true;
  EXPECT_EQ(run().ok, 200u - before);
  EXPECT_EQ(totals_.unchanged, before);
  EXPECT_EQ(packed(), names_up_to(200));
}

TEST_F(PackRun, FailuresBehindTheLastSampleHaveTheirRows) {
  make_pictures(10, 3000);
  std::set<int> bad = {8, 9};
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg,
                      const ResizeOptions& options) -> Result<Resized> {
    if (bad.contains(number_of(jpeg))) return fail(StatusCode::kInvalidInput, "is bad");
    return the_same(jpeg, options);
  };
  EXPECT_EQ(run().failed, 2u);
  EXPECT_EQ(failures(), (std::vector<std::string>{"0008.jpg", "0009.jpg"}));

  make_pictures(13, 3000);
  bad = {8, 9, 10, 12};
  options_.resume = true;
  const auto shard = fs::last_write_time(folder_ / "out/0000.tar");
  fs::permissions(folder_ / "out/0000.tar.jsonl", fs::perms(0640));
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
    return number_of(jpeg) == 11 ? Result<Resized>(fail(StatusCode::kInvalidInput, "is bad, too"))
           : bad.contains(number_of(jpeg))
               ? Result<Resized>(fail(StatusCode::kInvalidInput, "is bad"))
               : the_same(jpeg, options);
  };
  EXPECT_EQ(run().failed, 3u) << "nothing new is good";
  const std::vector<std::string> five = {"0008.jpg", "0009.jpg", "0010.jpg", "0011.jpg",
                                         "0012.jpg"};
  EXPECT_EQ(failures(), five);
  EXPECT_EQ(files_out(), (std::vector<std::string>{"0000.tar", "0000.tar.jsonl"}));
  EXPECT_EQ(fs::last_write_time(folder_ / "out/0000.tar"), shard);
  EXPECT_EQ(fs::status(folder_ / "out/0000.tar.jsonl").permissions(), fs::perms(0640));
  EXPECT_EQ(run().failed, 0u) << "what has failed is not tried again";

  options_.retry_failed = true;
  EXPECT_EQ(run().failed, 5u);
  EXPECT_EQ(failures(), five) << "once each, however often they are tried";
  bad = {9};
  EXPECT_EQ(run().failed, 2u);
  EXPECT_EQ(packed().size(), 11u);
  EXPECT_EQ(files_out().size(), 4u);
}

TEST_F(PackRun, WhereAllFailTheRowsHaveAShardWithoutSamples) {
  make_pictures(3, 3000);
  hooks_.resize = [](std::span<const std::uint8_t>, const ResizeOptions&) -> Result<Resized> {
    return fail(StatusCode::kInvalidInput, "is bad");
  };
  EXPECT_EQ(run().failed, 3u);
  EXPECT_EQ(failures(), names_up_to(3));
  EXPECT_EQ(files_out(), (std::vector<std::string>{"0000.tar", "0000.tar.jsonl"}));
  EXPECT_THAT(packed(), ::testing::IsEmpty());
  hooks_.resize = the_same;
  options_.resume = options_.retry_failed = true;
  EXPECT_EQ(run().ok, 3u);
  EXPECT_EQ(packed(), names_up_to(3));
}

// A manifest has no other place for what is at fault.
TEST_F(PackRun, ASidecarThatCannotBeReadIsNamedInTheRowOfItsPicture) {
  make_pictures(4, 3000);
  options_.sidecars = {"txt", "cls"};
  std::ofstream(folder_ / "in/0000.txt") << "text";
  fs::create_symlink(folder_ / "nowhere", folder_ / "in/0001.txt");
  fs::create_directory(folder_ / "in/0002.cls");
  EXPECT_EQ(run().failed, 3u) << "the link has a row of its own, too, as one met in the folder";
  EXPECT_EQ(packed(), (std::vector<std::string>{"0000.jpg", "0000.txt", "0003.jpg"}));
  std::ifstream manifest(folder_ / "out/0000.tar.jsonl");
  const std::string text{std::istreambuf_iterator<char>(manifest), {}};
  const std::string in = (folder_ / "in").string();
  EXPECT_THAT(text, ::testing::HasSubstr("\"message\":\"" + in + "/0001.txt: "));
  EXPECT_THAT(text, ::testing::HasSubstr("\"message\":\"" + in + "/0002.cls: "));
}

TEST_F(PackRun, TheFirstFailureEndsItWhereThatIsAskedFor) {
  make_pictures(300, 4000);
  settings_.stop_on_error = true;
  options_.waiting_bytes = 16 * 1024;
  hooks_.resize = [&](std::span<const std::uint8_t> jpeg,
                      const ResizeOptions& options) -> Result<Resized> {
    if (number_of(jpeg) == 100) return fail(StatusCode::kInvalidInput, "is bad");
    return the_same(jpeg, options);
  };
  EXPECT_EQ(run().failed, 1u);
  const auto names = packed();
  EXPECT_LE(names.size(), 100u);
  EXPECT_EQ(names, names_up_to(static_cast<int>(names.size())));
}

}  // namespace
}  // namespace framewire::dataset::test
