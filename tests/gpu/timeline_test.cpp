// Each stage of a batch is billed what it spends itself.
#include <gtest/gtest.h>
#include <codec/cuda/timeline.hpp>
#include <codec/cuda/transcoder.hpp>
#include <set>
#include <string_view>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::kStageCount;
using codec::cuda::Stage;
using codec::cuda::Transcoder;

TEST(Timeline, NamesEveryStageOnce) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const std::string_view name = to_string(static_cast<Stage>(i));
    EXPECT_FALSE(name.empty()) << i;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

class TimelineOnGpu : public GpuTest {
 protected:
  /// Times of one batch of one picture.
  std::array<double, kStageCount> times_of(const ResizeOptions& options) {
    sample::Spec spec;
    spec.width_px = 200;
    spec.height_px = 150;
    const OwnedItem owned(draw(spec), options);
    Transcoder transcoder = value_of(Transcoder::make(true));
    EXPECT_TRUE(transcoder.enqueue({&owned.item, 1}));
    EXPECT_TRUE(transcoder.wait());
    EXPECT_EQ(transcoder.result(0).status, 0u);
    return value_of(transcoder.stage_us());
  }
};

double of(const std::array<double, kStageCount>& times, Stage stage) {
  return times[static_cast<std::size_t>(stage)];
}

TEST_F(TimelineOnGpu, ResamplingIsBilledNeitherWeightsNorWhatFollows) {
  ResizeOptions options = resize_to(60, 40);
  const auto plain = times_of(options);
  EXPECT_GT(of(plain, Stage::kFilterWeights), 0);
  EXPECT_GT(of(plain, Stage::kResample), 0);
  EXPECT_EQ(of(plain, Stage::kPostProcess), 0);

  options.sharpen_sigma = 1;
  const auto sharpened = times_of(options);
  EXPECT_GT(of(sharpened, Stage::kPostProcess), 0);
  EXPECT_GT(of(sharpened, Stage::kPack), 0);
}

}  // namespace
}  // namespace framewire::gpu_tests
