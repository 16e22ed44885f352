// What a batch tells while it runs: a line for people, lines for programs, a file for Prometheus.
#pragma once

#include <base/clock.hpp>
#include <command_line/command.hpp>
#include <commands/batch/batch_standing.hpp>
#include <commands/batch/progress_line.hpp>
#include <dataset/shard_record.hpp>
#include <framewire/batch.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace framewire::app {

/// Takes rows, errors and progress of one batch. Any thread.
class BatchProgress {
 public:
  /// Reads --progress, --quiet and --metrics-file, and writes that file for the first time.
  /// @return what writing it meets
  [[nodiscard]] static Result<std::unique_ptr<BatchProgress>> open(const Arguments& arguments);

  /// @param shards  called now and then; takes no lock under which this is called
  void count_shards(std::function<ShardsDone()> shards);
  /// Whether anybody sees how many inputs there are.
  [[nodiscard]] bool shows_total() const noexcept;

  void row(const batch::Row& row);
  /// The row of a shard, which counts among shards and not among inputs.
  void row_of_shard(const Status& error);
  void error(const Status& error);
  /// A shard is written.
  void shard(const std::string& input, const dataset::ShardRows& rows);
  void draw(const batch::Progress& progress);
  /// The batch has ended: takes the line away, and tells the end.
  void end();

 private:
  explicit BatchProgress(ProgressLine::When when) : line_(when) {}
  void say_error(const Status& error);
  void stand();
  void write_metrics(bool finished);

  std::mutex mutex_;
  ProgressLine line_;
  bool json_lines_ = false;
  std::string metrics_file_;
  bool metrics_failed_ = false;
  BatchStanding standing_;
  batch::Progress told_of_;  ///< by batch::run(), to which all rows are rows of inputs
  std::uint64_t rows_of_shards_ = 0;
  std::function<ShardsDone()> shards_;
  base::Clock::time_point told_{};
  base::Clock::time_point written_{};
};

}  // namespace framewire::app
