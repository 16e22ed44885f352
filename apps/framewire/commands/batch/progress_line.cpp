#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <commands/batch/progress_line.hpp>
#include <cstdlib>
#include <report/console.hpp>
#include <vector>

namespace framewire::app {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kMinBarWidth = 8;
constexpr auto kLineEvery = std::chrono::seconds(2);

std::size_t terminal_columns() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::min(std::ceil(seconds), 1e9));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string shards_part(const ShardsDone& shards) {
  std::string text = shards.total ? fmt::format("{}/{} shards", shards.done, *shards.total)
                                  : fmt::format("{} shards", shards.done);
  if (shards.failed > 0) text += fmt::format(" ({} failed)", shards.failed);
  return text;
}

}  // namespace

std::string progress_text(const BatchStanding& standing, std::size_t columns) {
  const batch::Progress& progress = standing.progress;
  const bool known = progress.total && *progress.total > 0;
  const double part = known ? std::min(1.0, static_cast<double>(progress.handled) /
                                                static_cast<double>(*progress.total))
                            : 0;
  const std::string percent = fmt::format("{:.0f}%", std::floor(part * 100));
  std::vector<std::string> numbers;
  if (known) {
    numbers = {fmt::format("{}/{}", progress.handled, *progress.total), " " + percent};
  } else {
    numbers = {fmt::format("{} done", progress.handled)};
  }
  if (standing.shards) numbers.push_back("  " + shards_part(*standing.shards));
  if (progress.failed > 0) numbers.push_back(fmt::format("  {} failed", progress.failed));
  numbers.push_back(fmt::format("  {:.1f} images/s", progress.images_per_second));
  if (standing.bytes_in > 0 && progress.seconds > 0) {
    const double rate = static_cast<double>(standing.bytes_in) / progress.seconds;
    numbers.push_back("  " + human_bytes(static_cast<std::uint64_t>(rate)) + "/s");
  }
  if (progress.remaining_seconds) {
    numbers.push_back("  " + duration(*progress.remaining_seconds) + " left");
  }
  for (const auto& [name, count] : standing.errors) {
    numbers.push_back(fmt::format("  {} {}", name, count));
  }
  // Half a number would be another number.
  if (numbers[0].size() > columns) return known && percent.size() <= columns ? percent : "";
  std::string text;
  for (const std::string& number : numbers) {
    if (text.size() + number.size() > columns) return text;
    text += number;
  }
  constexpr std::size_t kAround = 4;  // two blanks, two brackets
  if (!known || text.size() + kAround + kMinBarWidth > columns) return text;
  const std::size_t width = std::min(kBarWidth, columns - text.size() - kAround);
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(width));
  return fmt::format("{}  [{:#<{}}{:.<{}}]", text, "", filled, "", width - filled);
}

ProgressLine::ProgressLine(When when) {
  const char* kind = std::getenv("TERM");
  const bool dumb = kind == nullptr || std::string_view(kind) == "dumb";
  terminal_ = ::isatty(STDERR_FILENO) != 0 && !dumb;
  shown_ = when == When::kAlways || (when == When::kAuto && terminal_);
}

void ProgressLine::draw(const BatchStanding& standing) {
  if (!shown_) return;
  if (terminal_) {
    line_ = progress_text(standing, terminal_columns() - 1);
    put("\r" + line_ + "\x1b[K");
    return;
  }
  const batch::Progress& progress = standing.progress;
  const bool last = progress.total && progress.handled >= *progress.total;
  if (!last && base::Clock::now() - written_ < kLineEvery) return;
  written_ = base::Clock::now();
  put(progress_text(standing, 200) + "\n");
}

void ProgressLine::message(std::string_view text) {
  const std::string line = line_;
  clear();
  say(text);
  if (!line.empty()) {
    line_ = line;
    put(line_);
  }
}

void ProgressLine::clear() {
  if (!line_.empty()) put("\r\x1b[K");
  line_.clear();
}

}  // namespace framewire::app
