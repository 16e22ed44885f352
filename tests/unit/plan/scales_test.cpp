// Plans: how far each component is decoded.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <tests/unit/plan/inputs.hpp>

namespace framewire::plan {
namespace {

double min_step(const PlanePlan& plane) { return std::min(plane.x.step, plane.y.step); }

TEST(PlanScales, LeaveTheFilterNearlyAFactorOfTwoAndNoMoreThanNeeded) {
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 2}, {2, 1}, {4, 1}}) {
    HeaderOnly input(ycbcr(4000, 3000, static_cast<std::uint8_t>(h), static_cast<std::uint8_t>(v)));
    for (std::int32_t width = 20; width < 4000; width = width * 9 / 8) {
      ResizeOptions options;
      options.width_px = width;
      const Plan plan = plan_or_die(input.file, options);
      for (std::size_t i = 0; i < 3; ++i) {
        SCOPED_TRACE("width " + std::to_string(width) + " plane " + std::to_string(i));
        const int scale = plan.scales[i];
        constexpr std::array kAll{1, 2, 4, 5, 6, 8};
        const auto found = std::ranges::find(kAll, scale);
        ASSERT_NE(found, kAll.end());
        const double step = min_step(plan.planes[i]);
        EXPECT_TRUE(scale == 8 || step >= 1.95 - 1e-9) << step;
        if (scale == 1) continue;
        EXPECT_LT(step * *std::prev(found) / scale, 1.95) << "could be decoded smaller";
      }
    }
  }
}

TEST(PlanScales, BeginAtTheirFactors) {
  const HeaderOnly input(ycbcr(1600, 800, 2, 2));
  const auto scales = [&](std::int32_t width) {
    ResizeOptions options;
    options.width_px = width;
    return plan_or_die(input.file, options).scales;
  };
  EXPECT_EQ(scales(1600), (Scales{8, 8, 8, 8}));
  EXPECT_EQ(scales(616), (Scales{8, 8, 8, 8}));
  EXPECT_EQ(scales(614), (Scales{6, 6, 6, 8}));
  EXPECT_EQ(scales(513), (Scales{6, 6, 6, 8}));
  EXPECT_EQ(scales(512), (Scales{5, 5, 5, 8}));
  EXPECT_EQ(scales(411), (Scales{5, 5, 5, 8}));
  EXPECT_EQ(scales(410), (Scales{4, 4, 4, 8}));
  EXPECT_EQ(scales(206), (Scales{4, 4, 4, 8}));
  EXPECT_EQ(scales(204), (Scales{2, 2, 2, 8}));
  EXPECT_EQ(scales(104), (Scales{2, 2, 2, 8}));
  EXPECT_EQ(scales(102), (Scales{1, 1, 1, 8}));
  EXPECT_EQ(scales(10), (Scales{1, 1, 1, 8}));
}

TEST(PlanScales, ComponentsAreScaledByThemselves) {
  const HeaderOnly input(ycbcr(1600, 800, 1, 1));
  ResizeOptions options;
  options.width_px = 400;
  options.sampling = Sampling::k420;
  EXPECT_EQ(plan_or_die(input.file, options).scales, (Scales{4, 2, 2, 8}));
}

TEST(PlanScales, ConvertedChromaIsNoFinerThanItIsWritten) {
  const HeaderOnly input(ycbcr(1600, 800, 2, 2));
  const auto scales = [&](std::int32_t width, Sampling sampling) {
    ResizeOptions options;
    options.width_px = width;
    options.sampling = sampling;
    const Plan plan = plan_or_die(input.file, options, {}, true);
    EXPECT_EQ(plan.color_path, ColorPath::kConvert);
    EXPECT_EQ(plan.planes[1].x.out_size, width) << "it is converted at the full size";
    return plan.scales;
  };
  EXPECT_EQ(scales(400, Sampling::k420), (Scales{4, 4, 4, 8}));
  EXPECT_EQ(scales(400, Sampling::k422), (Scales{4, 8, 8, 8})) << "for its rows";
  EXPECT_EQ(scales(400, Sampling::k440), (Scales{4, 8, 8, 8})) << "for its columns";
  EXPECT_EQ(scales(400, Sampling::k444), (Scales{4, 8, 8, 8}));
  EXPECT_EQ(scales(400, Sampling::kGray), (Scales{4, 8, 8, 8}));
  EXPECT_EQ(scales(205, Sampling::k444), (Scales{4, 5, 5, 8}));
  EXPECT_EQ(scales(200, Sampling::k444), (Scales{2, 4, 4, 8}));
  EXPECT_EQ(scales(200, Sampling::k420), (Scales{2, 2, 2, 8}));
}

TEST(PlanScales, ConvertedChromaOfATurnedPictureHasItsAxesSwapped) {
  HeaderOnly input(ycbcr(1600, 800, 1, 2));
  input.file.orientation = 6;
  ResizeOptions options;
  options.height_px = 400;  // of 1,600, stored along x
  options.sampling = Sampling::k422;
  // Shown, pairs lie side by side; stored, one above the other, where chroma has half the rows.
  EXPECT_EQ(plan_or_die(input.file, options, {}, true).scales, (Scales{4, 4, 4, 8}));
  options.sampling = Sampling::k440;
  EXPECT_EQ(plan_or_die(input.file, options, {}, true).scales, (Scales{4, 8, 8, 8}));
}

TEST(PlanScales, ComponentsOfOtherModelsAreNoChroma) {
  ResizeOptions options;
  options.width_px = 25;
  options.sampling = Sampling::k420;
  const HeaderOnly rgb({100, 100, 3}, 0);
  EXPECT_EQ(plan_or_die(rgb.file, options).scales, (Scales{4, 4, 4, 8}));
  const HeaderOnly ycck({100, 100, 4}, 2);
  EXPECT_EQ(plan_or_die(ycck.file, options).scales, (Scales{4, 4, 4, 4}));
}

TEST(PlanScales, TheTighterAxisDecides) {
  const HeaderOnly input(ycbcr(1600, 800, 1, 1));
  ResizeOptions options;
  options.resize = ResizeMode::kForce;
  options.width_px = 100;
  options.height_px = 200;
  options.sampling = Sampling::k444;
  EXPECT_EQ(plan_or_die(input.file, options).scales[0], 4);
}

TEST(PlanScales, OnlyWhereTheCodecCanAndTheKernelAverages) {
  const HeaderOnly input(ycbcr(1600, 800, 2, 2));
  ResizeOptions options;
  options.width_px = 50;
  EXPECT_EQ(plan_or_die(input.file, options, {false}).scales, kFullScale);
  options.kernel = Kernel::kNearest;
  EXPECT_EQ(plan_or_die(input.file, options).scales, kFullScale);
}

}  // namespace
}  // namespace framewire::plan
