#include <gtest/gtest.h>
#include <codec/reference/resample.hpp>
#include <numeric>

namespace framewire::codec::reference {
namespace {

Plane counted(std::int32_t width, std::int32_t height) {
  Plane plane{width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height)};
  std::iota(plane.samples.begin(), plane.samples.end(), std::uint8_t{1});
  return plane;
}

plan::PlanePlan whole(std::int32_t in_w, std::int32_t in_h, std::int32_t out_w,
                      std::int32_t out_h) {
  return {0,
          {in_w, out_w, 0, static_cast<double>(in_w) / out_w},
          {in_h, out_h, 0, static_cast<double>(in_h) / out_h}};
}

TEST(ReferenceResample, SameSizeIsTheIdentity) {
  const Plane in = counted(7, 5);
  for (const Kernel kernel :
       {Kernel::kLanczos3, Kernel::kBicubic, Kernel::kBilinear, Kernel::kArea, Kernel::kNearest}) {
    EXPECT_EQ(resample(in, whole(7, 5, 7, 5), kernel).samples, in.samples);
  }
}

TEST(ReferenceResample, AreaIsTheMeanRoundedHalfUp) {
  const Plane in{4, 2, {10, 11, 20, 21, 10, 11, 22, 22}};
  const Plane out = resample(in, whole(4, 2, 2, 1), Kernel::kArea);
  EXPECT_EQ(out.samples, (std::vector<std::uint8_t>{11, 21}));  // 10.5 and 21.25
}

TEST(ReferenceResample, RingingIsClamped) {
  Plane in{16, 1, {}};
  for (int x = 0; x < 16; ++x) in.samples.push_back(x < 8 ? 0 : 255);
  const Plane out = resample(in, whole(16, 1, 64, 1), Kernel::kLanczos3);
  EXPECT_EQ(out.samples.front(), 0);
  EXPECT_EQ(out.samples.back(), 255);
}

TEST(ReferenceResample, OrientationTurnsClockwise) {
  const Plane out = orient(counted(3, 2), 6);  // 1 2 3 / 4 5 6
  EXPECT_EQ(out.width_px, 2);
  EXPECT_EQ(out.height_px, 3);
  EXPECT_EQ(out.samples, (std::vector<std::uint8_t>{4, 1, 5, 2, 6, 3}));
}

TEST(ReferenceResample, PadSurroundsWithBackground) {
  const Plane out = pad(counted(2, 1), 4, 3, 1, 1, 99);
  EXPECT_EQ(out.samples, (std::vector<std::uint8_t>{99, 99, 99, 99, 99, 1, 2, 99, 99, 99, 99, 99}));
}

TEST(ReferenceResample, BoxAverageCountsOnlyWhatIsThere) {
  const Plane in{3, 3, {10, 20, 30, 30, 41, 50, 7, 8, 255}};
  const Plane out = box_average(in, 2, 2);
  EXPECT_EQ(out.samples, (std::vector<std::uint8_t>{25, 40, 8, 255}));  // 25.25, 40, 7.5, 255
}

/// A gray plan of the same size, to change.
plan::Plan gray_plan(std::int32_t width, std::int32_t height) {
  plan::Plan plan;
  plan.resized_width_px = width;
  plan.resized_height_px = height;
  plan.plane_count = 1;
  plan.planes[0] = whole(width, height, width, height);
  plan.placement = {0, 0, width, height};
  plan.encode.width_px = width;
  plan.encode.height_px = height;
  plan.encode.model = plan::OutputModel::kGray;
  plan.encode.component_count = 1;
  return plan;
}

TEST(ReferenceResample, BackgroundIsLumaInGrayOutput) {
  plan::Plan plan = gray_plan(2, 2);
  plan.encode.width_px = 3;
  plan.background = {255, 0, 0};
  const auto out = make_output_planes({{counted(2, 2)}}, plan, {});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->planes[0].samples, (std::vector<std::uint8_t>{1, 2, 76, 3, 4, 76}));
}

TEST(ReferenceResample, PlansThatDoNotFitAreInternalErrors) {
  plan::Plan wrong_input = gray_plan(3, 2);
  EXPECT_EQ(make_output_planes({{counted(2, 2)}}, wrong_input, {}).error().code(),
            StatusCode::kInternal);
  plan::Plan small_canvas = gray_plan(2, 2);
  small_canvas.encode.width_px = 1;
  EXPECT_EQ(make_output_planes({{counted(2, 2)}}, small_canvas, {}).error().code(),
            StatusCode::kInternal);
  plan::Plan no_converter = gray_plan(2, 2);
  no_converter.color_path = plan::ColorPath::kConvert;
  EXPECT_EQ(make_output_planes({{counted(2, 2)}}, no_converter, {}).error().code(),
            StatusCode::kInternal);
}

}  // namespace
}  // namespace framewire::codec::reference
