#include <batch/tally.hpp>
#include <chrono>

namespace framewire::batch {
namespace {

constexpr auto kReportEvery = std::chrono::milliseconds(100);

}  // namespace

void Tally::add(const Processed& processed) {
  const std::lock_guard lock(mutex_);
  ++summary_.inputs;
  if (processed.row) {
    count(*processed.row);
    if (with_.on_row) with_.on_row(*processed.row);
  } else {
    ++summary_.unchanged;
  }
  if (base::Clock::now() - reported_ >= kReportEvery) report_locked();
}

void Tally::count(const Row& row) {
  if (!row.warnings.empty()) ++summary_.with_warnings;
  switch (row.outcome) {
    case Outcome::kOk:
      ++summary_.ok;
      summary_.bytes_in += row.bytes_in;
      summary_.bytes_out += row.bytes_out;
      break;
    case Outcome::kFailed:
      ++summary_.failed;
      if (row.error) ++summary_.errors[std::string(framewire::to_string(row.error->code()))];
      break;
    case Outcome::kSkipped:
      ++summary_.skipped;
      break;
  }
}

void Tally::report() {
  const std::lock_guard lock(mutex_);
  report_locked();
}

void Tally::report_locked() {
  reported_ = base::Clock::now();
  if (!with_.on_progress) return;
  Progress progress;
  progress.handled = summary_.inputs;
  progress.failed = summary_.failed;
  progress.seconds = base::elapsed_us(start_) / 1e6;
  // What an earlier run did passes in no time and says nothing of the work ahead.
  const auto worked = static_cast<double>(summary_.inputs - summary_.unchanged);
  if (progress.seconds > 0) progress.images_per_second = worked / progress.seconds;
  if (const std::uint64_t total = total_; total != kUnknown) {
    progress.total = total;
    if (progress.images_per_second > 0 && total >= progress.handled) {
      progress.remaining_seconds =
          static_cast<double>(total - progress.handled) / progress.images_per_second;
    }
  }
  with_.on_progress(progress);
}

Summary Tally::summarise(unsigned jobs, bool interrupted, std::optional<Status> stopped_by) {
  const std::lock_guard lock(mutex_);
  summary_.seconds = base::elapsed_us(start_) / 1e6;
  summary_.jobs = jobs;
  summary_.interrupted = interrupted;
  summary_.stopped_by = std::move(stopped_by);
  return summary_;
}

}  // namespace framewire::batch
