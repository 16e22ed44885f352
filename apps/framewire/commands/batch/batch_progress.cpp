#include <algorithm>
#include <chrono>
#include <commands/batch/batch_progress.hpp>
#include <files/whole_file.hpp>
#include <report/console.hpp>
#include <report/json.hpp>
#include <utility>

namespace framewire::app {
namespace {

constexpr auto kJsonEvery = std::chrono::seconds(1);
/// Prometheus reads such files every 15 s or less often.
constexpr auto kMetricsEvery = std::chrono::seconds(5);

ProgressLine::When progress_when(const Arguments& arguments) {
  const std::string word = arguments.get("progress");
  if (word == "always") return ProgressLine::When::kAlways;
  const bool none = word == "never" || word == "json" || arguments.has("quiet");
  return none ? ProgressLine::When::kNever : ProgressLine::When::kAuto;
}

double seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

Result<void> write_metrics_to(const std::string& path, const BatchStanding& standing,
                              bool finished) {
  return write_whole_file(path, metrics_text(standing, finished, seconds_since_1970()));
}

}  // namespace

Result<std::unique_ptr<BatchProgress>> BatchProgress::open(const Arguments& arguments) {
  std::unique_ptr<BatchProgress> made(new BatchProgress(progress_when(arguments)));
  made->json_lines_ = arguments.get("progress") == "json";
  made->metrics_file_ = arguments.get("metrics-file");
  if (made->metrics_file_.empty()) return made;
  const auto is_metrics = [](std::string_view text) {
    return text.starts_with("# HELP framewire_");
  };
  if (auto good = check_replaceable(made->metrics_file_, is_metrics); !good) {
    return fail(std::move(good.error()));
  }
  auto written = write_metrics_to(made->metrics_file_, made->standing_, false);
  if (!written) return fail(std::move(written.error()));
  return made;
}

void BatchProgress::count_shards(std::function<ShardsDone()> shards) {
  const std::lock_guard lock(mutex_);
  shards_ = std::move(shards);
}

bool BatchProgress::shows_total() const noexcept {
  return line_.shown() || json_lines_ || !metrics_file_.empty();
}

void BatchProgress::row(const batch::Row& row) {
  const std::lock_guard lock(mutex_);
  switch (row.outcome) {
    case batch::Outcome::kOk:
      ++standing_.ok;
      standing_.bytes_in += row.bytes_in;
      standing_.bytes_out += row.bytes_out;
      break;
    case batch::Outcome::kFailed:
      ++standing_.errors[std::string(to_string(row.error->code()))];
      say_error(*row.error);
      break;
    case batch::Outcome::kSkipped:
      ++standing_.skipped;
      break;
  }
}

void BatchProgress::error(const Status& error) {
  const std::lock_guard lock(mutex_);
  say_error(error);
}

void BatchProgress::shard(const std::string& input, const dataset::ShardRows& rows) {
  const std::lock_guard lock(mutex_);
  if (!json_lines_) return;
  put(text_of(Json{{"event", "shard"},
                   {"input", input},
                   {"ok", rows.ok},
                   {"failed", rows.failed},
                   {"errors", rows.errors},
                   {"bytes_in", rows.bytes_in},
                   {"bytes_out", rows.bytes_out},
                   {"copy_errors", rows.copy_errors}}) +
      "\n");
}

void BatchProgress::row_of_shard(const Status& error) {
  const std::lock_guard lock(mutex_);
  ++rows_of_shards_;
  say_error(error);
}

// What batch::run() says, without what is no input, and with inputs that it was not handed.
void BatchProgress::stand() {
  if (shards_) standing_.shards = shards_();
  batch::Progress& progress = standing_.progress;
  progress = told_of_;
  progress.handled -= std::min(progress.handled, rows_of_shards_);
  progress.failed -= std::min(progress.failed, rows_of_shards_);
  if (!standing_.shards) return;
  progress.handled += standing_.shards->inputs_before;
  if (progress.total) *progress.total += standing_.shards->inputs_before;
}

void BatchProgress::say_error(const Status& error) {
  if (!json_lines_) return line_.message(printable(error.to_string()));
  put(text_of(Json{{"event", "error"},
                   {"error_class", to_string(error.code())},
                   {"subject", error.subject()},
                   {"message", error.message()},
                   {"offset", error.offset() ? Json(*error.offset()) : Json(nullptr)}}) +
      "\n");
}

void BatchProgress::draw(const batch::Progress& progress) {
  const std::lock_guard lock(mutex_);
  told_of_ = progress;
  stand();
  line_.draw(standing_);
  const auto now = base::Clock::now();
  if (json_lines_ && now - told_ >= kJsonEvery) {
    told_ = now;
    put(standing_json(standing_, "progress") + "\n");
  }
  if (!metrics_file_.empty() && now - written_ >= kMetricsEvery) {
    written_ = now;
    write_metrics(false);
  }
}

void BatchProgress::end() {
  const std::lock_guard lock(mutex_);
  line_.clear();
  stand();
  if (json_lines_) put(standing_json(standing_, "end") + "\n");
  if (!metrics_file_.empty()) write_metrics(true);
}

// A batch of hours does not end because nobody can watch it.
void BatchProgress::write_metrics(bool finished) {
  const auto written = write_metrics_to(metrics_file_, standing_, finished);
  if (!written && !std::exchange(metrics_failed_, true)) say_error(written.error());
}

}  // namespace framewire::app
