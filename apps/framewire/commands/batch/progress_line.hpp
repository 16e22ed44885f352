// One line on standard error that tells how far a batch has come.
#pragma once

#include <base/clock.hpp>
#include <commands/batch/batch_standing.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace framewire::app {

/// "120/400 30%  2/5 shards  3 failed  41.3 images/s  9.1 MB/s  6s left  invalid_input 3 [###...]",
/// at most `columns` wide: first the bar goes, then numbers from the end, whole ones. Without a
/// total only what has been done.
[[nodiscard]] std::string progress_text(const BatchStanding& standing, std::size_t columns);

/// Redraws in place on a terminal; elsewhere, if forced, writes a line every other second. Messages
/// that pass through message() never mix with it. Not thread-safe.
class ProgressLine {
 public:
  enum class When { kAuto, kAlways, kNever };
  explicit ProgressLine(When when);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  [[nodiscard]] bool shown() const noexcept { return shown_; }
  void draw(const BatchStanding& standing);
  /// Says something above the line.
  void message(std::string_view text);
  void clear();

 private:
  bool terminal_ = false;
  bool shown_ = false;
  std::string line_;  ///< on the screen now
  base::Clock::time_point written_{};
};

}  // namespace framewire::app
