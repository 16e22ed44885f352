// Requests that a bench draws: the same for a seed, and as its page says.
#include <gtest/gtest.h>
#include <array>
#include <commands/bench/workload.hpp>
#include <set>
#include <tuple>

namespace framewire::app {
namespace {

constexpr int kCount = 20'000;

class BenchWorkload : public testing::Test {
 protected:
  BenchWorkload() {
    options_.width_px = 400;
    options_.height_px = 300;
    options_.quality = 80;
  }
  [[nodiscard]] Workload workload(const Variation& variation) const {
    return {inputs_, options_, variation};
  }

  std::array<std::uint8_t, 3> bytes_{};
  std::array<std::span<const std::uint8_t>, 2> inputs_{std::span(bytes_).first(1), bytes_};
  ResizeOptions options_;
};

TEST_F(BenchWorkload, WithoutVariationIsWhatWasAskedFor) {
  const Workload alike = workload({});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(to_string(alike.options(i)), to_string(options_));
    EXPECT_EQ(alike.input(i).size(), inputs_[i % 2].size());
  }
}

TEST_F(BenchWorkload, IsDecidedByItsSeed) {
  const Workload one = workload({.size = true, .crop = true, .quality = true, .seed = 7});
  const Workload again = workload({.size = true, .crop = true, .quality = true, .seed = 7});
  const Workload other = workload({.size = true, .crop = true, .quality = true, .seed = 8});
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(to_string(one.options(i)), to_string(again.options(i)));
    same += to_string(one.options(i)) == to_string(other.options(i)) ? 1 : 0;
  }
  EXPECT_LT(same, 5);
}

TEST_F(BenchWorkload, SizesHaveTheAreaAskedForOnAverage) {
  const Workload sizes = workload({.size = true});
  double area = 0;
  std::set<int> widths;
  for (int i = 0; i < kCount; ++i) {
    const ResizeOptions options = sizes.options(i);
    EXPECT_GE(options.width_px, 200);
    EXPECT_LE(options.width_px, 530);
    EXPECT_NEAR(options.width_px * 0.75, options.height_px, 1);
    EXPECT_EQ(options.quality, 80);
    EXPECT_EQ(options.crop_width, 0);
    area += static_cast<double>(options.width_px) * options.height_px / kCount;
    widths.insert(options.width_px);
  }
  EXPECT_NEAR(area, 400 * 300, 400 * 300 * 0.01);
  EXPECT_GT(widths.size(), 300u);
}

TEST_F(BenchWorkload, WidthsAreThoseOfAService) {
  const Workload widths = workload({.width = true});
  std::set<int> found;
  for (int i = 0; i < kCount; ++i) {
    found.insert(widths.options(i).width_px);
    EXPECT_EQ(widths.options(i).height_px, 0);
  }
  EXPECT_EQ(*found.begin(), 100);
  EXPECT_EQ(*found.rbegin(), 1600);
  EXPECT_EQ(found.size(), 1501u);
}

TEST_F(BenchWorkload, CropsAndQualitiesAreAsDocumented) {
  const Workload own = workload({.crop = true, .quality = true});
  std::set<int> qualities;
  for (int i = 0; i < kCount; ++i) {
    const ResizeOptions options = own.options(i);
    EXPECT_TRUE(validate(options));
    EXPECT_EQ(options.width_px, 400);
    EXPECT_GE(options.crop_width, 0.6);
    EXPECT_LT(options.crop_width, 1);
    EXPECT_EQ(options.crop_width, options.crop_height);
    ASSERT_TRUE(options.crop_gravity);
    EXPECT_EQ(options.crop_gravity->anchor, Gravity::Anchor::kFocus);
    qualities.insert(options.quality);
  }
  EXPECT_EQ(*qualities.begin(), 60);
  EXPECT_EQ(*qualities.rbegin(), 90);
}

}  // namespace
}  // namespace framewire::app
