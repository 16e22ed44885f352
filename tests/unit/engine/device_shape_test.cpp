// What a decode to device memory would make of a file; no GPU is asked.
#include <gmock/gmock.h>
#include <framewire/device.hpp>
#include <tests/support/sample_jpeg.hpp>

namespace framewire {
namespace {

using testing::HasSubstr;

sample::Bytes grey(const sample::Spec& spec) {
  return sample::make(spec, [](int, double, double) { return 128.0; });
}

TEST(DeviceShape, SaysSizesWithAndWithoutWholeBlocks) {
  const sample::Bytes jpeg = grey({203, 157, JCS_YCbCr, 2, 2});
  struct Shapes {
    int scale;
    DevicePlaneShape luma, chroma;
  };
  for (const Shapes& c : {Shapes{8, {203, 157, 208, 160}, {102, 79, 104, 80}},
                          Shapes{4, {102, 79, 104, 80}, {51, 40, 52, 40}},
                          Shapes{2, {51, 40, 52, 40}, {26, 20, 26, 20}},
                          Shapes{1, {26, 20, 26, 20}, {13, 10, 13, 10}}}) {
    SCOPED_TRACE(c.scale);
    const auto shape = DeviceDecoder::shape(jpeg, c.scale);
    ASSERT_TRUE(shape);
    ASSERT_EQ(shape->component_count, 3);
    for (const auto& [found, expected] :
         {std::pair(shape->planes[0], c.luma), std::pair(shape->planes[2], c.chroma)}) {
      EXPECT_EQ(found.width_px, expected.width_px);
      EXPECT_EQ(found.height_px, expected.height_px);
      EXPECT_EQ(found.whole_width_px, expected.whole_width_px);
      EXPECT_EQ(found.whole_height_px, expected.whole_height_px);
    }
  }
}

TEST(DeviceShape, SaysWhatComponentsMean) {
  const std::pair<J_COLOR_SPACE, DeviceColorModel> cases[] = {
      {JCS_GRAYSCALE, DeviceColorModel::kGray},
      {JCS_YCbCr, DeviceColorModel::kYcbcr},
      {JCS_RGB, DeviceColorModel::kRgb},
      {JCS_CMYK, DeviceColorModel::kCmyk},
      {JCS_YCCK, DeviceColorModel::kYcck}};
  for (const auto& [stored, model] : cases) {
    const auto shape = DeviceDecoder::shape(grey({64, 48, stored}), 8);
    ASSERT_TRUE(shape) << stored;
    EXPECT_EQ(shape->color_model, model) << stored;
    // libjpeg writes Adobe's marker into files of four components.
    EXPECT_EQ(shape->inverted_inks, shape->component_count == 4) << stored;
  }
}

TEST(DeviceShape, RefusesWhatDecodingWould) {
  const sample::Bytes jpeg = grey({64, 48, JCS_GRAYSCALE});
  const auto scale = DeviceDecoder::shape(jpeg, 3);
  ASSERT_FALSE(scale);
  EXPECT_THAT(scale.error().message(), HasSubstr("8, 6, 5, 4, 2 or 1"));
  const auto nothing = DeviceDecoder::shape(sample::Bytes{1, 2, 3}, 8);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), StatusCode::kInvalidInput);
  Limits limits;
  limits.max_input_pixels = 64 * 47;
  const auto large = DeviceDecoder::shape(jpeg, 8, limits);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), StatusCode::kTooLarge);
}

}  // namespace
}  // namespace framewire
