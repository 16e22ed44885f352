// The progress line in terminals of any width.
#include <gtest/gtest.h>
#include <commands/batch/batch_standing.hpp>
#include <commands/batch/progress_line.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace framewire::app {
namespace {

BatchStanding standing() {
  BatchStanding standing;
  batch::Progress& progress = standing.progress;
  progress.handled = 120;
  progress.total = 400;
  progress.failed = 3;
  progress.images_per_second = 41.3;
  progress.remaining_seconds = 6.2;
  return standing;
}

TEST(ProgressLine, NumbersComeFirstAndTheBarWhereThereIsRoom) {
  EXPECT_EQ(progress_text(standing(), 80),
            "120/400 30%  3 failed  41.3 images/s  7s left  [#######.................]");
  EXPECT_EQ(progress_text(standing(), 20), "120/400 30%");
  EXPECT_EQ(progress_text(standing(), 21), "120/400 30%  3 failed");
  EXPECT_EQ(progress_text(standing(), 6), "30%");
  EXPECT_EQ(progress_text(standing(), 2), "");
}

// A terminal of any width: never wider, no number cut, and what there is room for is there.
TEST(ProgressLine, FitsEveryWidth) {
  const std::string numbers = "120/400 30%  3 failed  41.3 images/s  7s left";
  std::size_t before = 0;
  for (std::size_t columns = 1; columns <= 300; ++columns) {
    const std::string text = progress_text(standing(), columns);
    EXPECT_LE(text.size(), columns);
    EXPECT_GE(text.size(), before) << columns;
    before = text.size();
    if (columns < 7) {
      EXPECT_EQ(text, columns < 3 ? "" : "30%") << columns;
      continue;
    }
    const std::string shown = text.substr(0, text.find("  ["));
    EXPECT_TRUE(numbers.starts_with(shown)) << columns << ": " << text;
    const bool whole = shown == numbers || numbers[shown.size()] == ' ';
    EXPECT_TRUE(whole) << columns << ": " << text;
    if (text != shown) {
      EXPECT_EQ(shown, numbers) << "a bar in place of a number at " << columns;
      EXPECT_TRUE(text.ends_with("]")) << text;
    }
  }
}

TEST(ProgressLine, WithoutATotalThereIsNoBar) {
  BatchStanding unknown;
  unknown.progress.handled = 7;
  EXPECT_EQ(progress_text(unknown, 80), "7 done  0.0 images/s");
  EXPECT_EQ(progress_text(unknown, 5), "");
}

TEST(ProgressLine, ShowsShardsBytesAndClassesOfErrors) {
  BatchStanding all = standing();
  all.progress.seconds = 10;
  all.bytes_in = 91'000'000;
  all.errors = {{"invalid_input", 2}, {"too_large", 1}};
  all.shards = ShardsDone{2, 5, 0, {}};
  EXPECT_EQ(progress_text(all, 100),
            "120/400 30%  2/5 shards  3 failed  41.3 images/s  9.1 MB/s  7s left  invalid_input 2  "
            "too_large 1");
  all.shards->total.reset();
  EXPECT_EQ(progress_text(all, 34), "120/400 30%  2 shards  3 failed");
  all.shards->failed = 1;
  EXPECT_EQ(progress_text(all, 45), "120/400 30%  2 shards (1 failed)  3 failed");
}

TEST(BatchStanding, IsMetricsOfPrometheus) {
  BatchStanding all = standing();
  all.ok = 100;
  all.bytes_in = 5'000'000'000;
  all.errors = {{"invalid_input", 2}, {"too_large", 1}};
  all.shards = ShardsDone{2, 5, 1, {{"io_error", 1}}};
  const std::string text = metrics_text(all, true, 1.5e9);
  for (const char* line :
       {"# TYPE framewire_batch_inputs_total counter\n",
        "framewire_batch_inputs_total{result=\"ok\"} 100\n",
        "framewire_batch_inputs_total{result=\"failed\"} 3\n",
        "framewire_batch_inputs_total{result=\"unchanged\"} 17\n",
        "framewire_batch_failures_total{class=\"too_large\"} 1\n",
        "framewire_batch_inputs_expected 400\n", "framewire_batch_input_bytes_total 5000000000\n",
        "framewire_batch_shards_total 2\n", "framewire_batch_shards_expected 5\n",
        "framewire_batch_shards_failed_total 1\n",
        "framewire_batch_shard_failures_total{class=\"io_error\"} 1\n",
        "framewire_batch_finished 1\n", "framewire_batch_updated_timestamp_seconds 1500000000"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  all.progress.total.reset();
  all.shards.reset();
  const std::string less = metrics_text(all, false, 1);
  EXPECT_EQ(less.find("expected"), std::string::npos);
  EXPECT_EQ(less.find("shards"), std::string::npos);
  EXPECT_NE(less.find("framewire_batch_finished 0\n"), std::string::npos);
}

TEST(BatchStanding, IsALineOfJson) {
  BatchStanding all = standing();
  all.errors = {{"invalid_input", 3}};
  const std::string line = standing_json(all, "progress");
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["event"], "progress");
  EXPECT_EQ(json["handled"], 120);
  EXPECT_EQ(json["total"], 400);
  EXPECT_EQ(json["errors"]["invalid_input"], 3);
  EXPECT_EQ(json["remaining_seconds"], 6.2);
  EXPECT_TRUE(json["shards_done"].is_null());
  EXPECT_TRUE(json["shards_failed"].is_null());
  all.shards = ShardsDone{2, 5, 1, {{"io_error", 1}}};
  const auto shards = nlohmann::json::parse(standing_json(all, "end"));
  EXPECT_EQ(shards["shards_failed"], 1);
  EXPECT_EQ(shards["shard_errors"]["io_error"], 1);
}

}  // namespace
}  // namespace framewire::app
