// The progress line in terminals of any width.
#include <gtest/gtest.h>
#include <commands/batch/progress_line.hpp>
#include <string>

namespace framewire::app {
namespace {

batch::Progress progress() {
  batch::Progress progress;
  progress.handled = 120;
  progress.total = 400;
  progress.failed = 3;
  progress.images_per_second = 41.3;
  progress.remaining_seconds = 6.2;
  return progress;
}

TEST(ProgressLine, NumbersComeFirstAndTheBarWhereThereIsRoom) {
  EXPECT_EQ(progress_text(progress(), 80),
            "120/400 30%  3 failed  41.3 images/s  7s left  [#######.................]");
  EXPECT_EQ(progress_text(progress(), 20), "120/400 30%");
  EXPECT_EQ(progress_text(progress(), 21), "120/400 30%  3 failed");
  EXPECT_EQ(progress_text(progress(), 6), "30%");
  EXPECT_EQ(progress_text(progress(), 2), "");
}

// A terminal of any width: never wider, no number cut, and what there is room for is there.
TEST(ProgressLine, FitsEveryWidth) {
  const std::string numbers = "120/400 30%  3 failed  41.3 images/s  7s left";
  std::size_t before = 0;
  for (std::size_t columns = 1; columns <= 300; ++columns) {
    const std::string text = progress_text(progress(), columns);
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
  batch::Progress unknown;
  unknown.handled = 7;
  EXPECT_EQ(progress_text(unknown, 80), "7 done  0.0 images/s");
  EXPECT_EQ(progress_text(unknown, 5), "");
}

}  // namespace
}  // namespace framewire::app
