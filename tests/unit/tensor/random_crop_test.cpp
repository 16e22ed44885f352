// Random crops: the generator by its published vectors, the distribution by torchvision's
// algorithm.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <framewire/random_crop.hpp>
#include <random>
#include <set>
#include <tensor/philox.hpp>
#include <tuple>

namespace framewire {
namespace {

using Words4 = std::array<std::uint32_t, 4>;
using Words2 = std::array<std::uint32_t, 2>;

// Random123's kat_vectors: philox4x32 10.
TEST(Philox, GivesThePublishedVectors) {
  static_assert(tensor::philox4x32(Words4{0, 0, 0, 0}, Words2{0, 0}) ==
                Words4{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
  EXPECT_EQ(tensor::philox4x32(Words4{~0u, ~0u, ~0u, ~0u}, Words2{~0u, ~0u}),
            (Words4{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(tensor::philox4x32(Words4{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                               Words2{0xa4093822u, 0x299f31d0u}),
            (Words4{0xd16cfe09u, 0x94fdcceb, 0x5001e420u, 0x24126ea1u}));
}

/// torchvision.transforms.RandomResizedCrop.get_params, with another generator.
class Torchvision {
 public:
  CropBox draw(int width, int height) {
    const double area = static_cast<double>(height) * width;
    for (int i = 0; i < 10; ++i) {
      const double target = area * uniform(0.08, 1.0);
      const double ratio = std::exp(uniform(std::log(3.0 / 4.0), std::log(4.0 / 3.0)));
      const int w = static_cast<int>(std::nearbyint(std::sqrt(target * ratio)));
      const int h = static_cast<int>(std::nearbyint(std::sqrt(target / ratio)));
      if (w <= 0 || w > width || h <= 0 || h > height) continue;
      const int top = std::uniform_int_distribution(0, height - h)(random_);
      const int left = std::uniform_int_distribution(0, width - w)(random_);
      return {left, top, w, h};
    }
    ++fallbacks;
    const double in_ratio = static_cast<double>(width) / height;
    int w = width, h = height;
    if (in_ratio < 3.0 / 4.0) h = static_cast<int>(std::nearbyint(w / (3.0 / 4.0)));
    if (in_ratio > 4.0 / 3.0) w = static_cast<int>(std::nearbyint(h * (4.0 / 3.0)));
    return {(width - w) / 2, (height - h) / 2, w, h};
  }
  std::uint64_t fallbacks = 0;

 private:
  double uniform(double low, double high) {
    return std::uniform_real_distribution(low, high)(random_);
  }
  std::mt19937_64 random_{99};
};

struct Drawn {
  std::vector<double> width, area, ratio, left, top;
  std::uint64_t fallbacks = 0;  ///< boxes that are the fallback's
  void add(const CropBox& box, int picture_width, int picture_height, const CropBox& fallback) {
    width.push_back(box.width_px);
    area.push_back(static_cast<double>(box.width_px) * box.height_px);
    ratio.push_back(static_cast<double>(box.width_px) / box.height_px);
    // Where the box lies between its extremes; the middle where it cannot move.
    const int x = picture_width - box.width_px;
    const int y = picture_height - box.height_px;
    left.push_back(x == 0 ? 0.5 : static_cast<double>(box.left_px) / x);
    top.push_back(y == 0 ? 0.5 : static_cast<double>(box.top_px) / y);
    fallbacks += box == fallback ? 1 : 0;
  }
};

/// The largest distance between two empirical distribution functions, ties taken together.
double kolmogorov_smirnov(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double largest = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double at = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == at) ++i;
    while (j < b.size() && b[j] == at) ++j;
    largest = std::max(largest, std::fabs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                          static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return largest;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// @param draws  of ours and of torchvision's algorithm
void compare(int width, int height, int draws) {
  SCOPED_TRACE(testing::Message() << width << "x" << height);
  Torchvision peer;
  Drawn ours, theirs;
  // An extreme picture shows the fallback's box.
  RandomCropOptions never;
  never.min_area = never.max_area = 1.0;
  never.min_ratio = 3.0 / 4.0;
  CropBox fallback{};
  const double in_ratio = static_cast<double>(width) / height;
  if (in_ratio < 0.75 || in_ratio > 4.0 / 3.0) {
    fallback = random_resized_crop(width, height, {}, never).value();
  }
  for (int i = 0; i < draws; ++i) {
    const SampleKey key{42, 7, static_cast<std::uint64_t>(i)};
    const CropBox box = random_resized_crop(width, height, key).value();
    ASSERT_TRUE(box.left_px >= 0 && box.top_px >= 0 && box.width_px >= 1 && box.height_px >= 1 &&
                box.left_px + box.width_px <= width && box.top_px + box.height_px <= height);
    ours.add(box, width, height, fallback);
    theirs.add(peer.draw(width, height), width, height, fallback);
  }
  // The two-sample test's threshold for one false alarm in 10⁵.
  const double threshold = std::sqrt(-std::log(1e-5 / 2) / 2) * std::sqrt(2.0 / draws);
  EXPECT_LT(kolmogorov_smirnov(ours.width, theirs.width), threshold);
  EXPECT_LT(kolmogorov_smirnov(ours.area, theirs.area), threshold);
  EXPECT_LT(kolmogorov_smirnov(ours.ratio, theirs.ratio), threshold);
  EXPECT_LT(kolmogorov_smirnov(ours.left, theirs.left), threshold);
  EXPECT_LT(kolmogorov_smirnov(ours.top, theirs.top), threshold);
  EXPECT_NEAR(mean(ours.area) / mean(theirs.area), 1.0, 0.01);
  const double n = draws;
  const double sigma = std::sqrt(2.0 * (static_cast<double>(theirs.fallbacks) + 1) / (n * n));
  EXPECT_NEAR(static_cast<double>(ours.fallbacks) / n, static_cast<double>(theirs.fallbacks) / n,
              5 * sigma);
}

TEST(RandomCrop, HasTorchvisionsDistribution) {
  compare(500, 375, 1'000'000);
  compare(224, 224, 100'000);
  compare(375, 500, 100'000);
  compare(1000, 50, 100'000);  // mostly the fallback
  compare(40, 300, 100'000);
  compare(3, 2, 100'000);  // rounding decides
}

TEST(RandomCrop, ExtremeShapesFallBackToTheMiddle) {
  // No box of a ratio up to 4/3 and 8 % of the area fits into a line: always the fallback.
  const CropBox box = random_resized_crop(10'000, 10, {1, 2, 3}).value();
  EXPECT_EQ(box, (CropBox{4993, 0, 13, 10}));  // round(10 · 4/3) = 13, (10000 − 13) / 2
  const CropBox tall = random_resized_crop(10, 10'000, {1, 2, 3}).value();
  EXPECT_EQ(tall, (CropBox{0, 4993, 10, 13}));
  EXPECT_EQ(random_resized_crop(1, 1, {}).value(), (CropBox{0, 0, 1, 1}));
}

TEST(RandomCrop, DependsOnSeedEpochAndSampleAlone) {
  const auto draw = [](std::uint64_t seed, std::uint32_t epoch, std::uint64_t sample) {
    const CropBox box = random_resized_crop(640, 480, {seed, epoch, sample}).value();
    return std::tuple(box.left_px, box.top_px, box.width_px, box.height_px);
  };
  // Fixed for ever: a training that goes on with a newer version sees the same crops.
  EXPECT_EQ(draw(1, 2, 3), std::tuple(151, 194, 232, 254));
  EXPECT_EQ(draw(0, 0, 0), std::tuple(138, 109, 413, 332));
  EXPECT_EQ(draw(~0ull, ~0u, ~0ull), std::tuple(25, 0, 601, 479));
  EXPECT_TRUE(random_flip({1, 2, 3}));
  EXPECT_FALSE(random_flip({0, 0, 0}));
  std::set<std::tuple<int, int, int, int>> different;
  different.insert(draw(1, 2, 3));
  different.insert(draw(2, 2, 3));
  different.insert(draw(1, 3, 3));
  different.insert(draw(1, 2, 4));
  different.insert(draw(1ull << 32 | 1, 2, 3));
  different.insert(draw(1, 2, 1ull << 32 | 3));
  EXPECT_EQ(different.size(), 6u);
}

TEST(RandomCrop, FlipsHalfOfTheSamplesAndIndependentlyOfTheCrop) {
  int flips = 0, flips_of_wide = 0, wide = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const SampleKey key{5, 0, static_cast<std::uint64_t>(i)};
    const bool flip = random_flip(key);
    flips += flip ? 1 : 0;
    const CropBox box = random_resized_crop(500, 375, key).value();
    if (box.width_px <= box.height_px) continue;
    ++wide;
    flips_of_wide += flip ? 1 : 0;
  }
  EXPECT_NEAR(flips / static_cast<double>(kDraws), 0.5, 5 * 0.5 / std::sqrt(kDraws));
  EXPECT_NEAR(flips_of_wide / static_cast<double>(wide), 0.5, 5 * 0.5 / std::sqrt(wide));
  EXPECT_FALSE(random_flip({5, 0, 1}, 0));
  EXPECT_TRUE(random_flip({5, 0, 1}, 1));
}

TEST(RandomCrop, RefusesWhatMakesNoSense) {
  EXPECT_EQ(random_resized_crop(0, 5, {}).error().code(), StatusCode::kInvalidInput);
  EXPECT_FALSE(random_resized_crop(5, (1 << 24) + 1, {}));
  for (const auto& [low, high] : {std::pair{0.0, 1.0}, {0.5, 0.4}, {0.5, 1.1}, {NAN, 1.0}}) {
    EXPECT_FALSE(random_resized_crop(5, 5, {}, {low, high, 0.75, 1.5})) << low << " " << high;
  }
  for (const auto& [low, high] : {std::pair{0.0, 1.0}, {2.0, 1.0}, {1.0, INFINITY}, {1.0, NAN}}) {
    EXPECT_FALSE(random_resized_crop(5, 5, {}, {0.1, 1.0, low, high})) << low << " " << high;
  }
  // Ratios so extreme that no integer holds the sides.
  const CropBox box = random_resized_crop(50, 40, {}, {0.1, 1.0, 1e200, 1e300}).value();
  EXPECT_EQ(box, (CropBox{0, 19, 50, 1}));
}

TEST(CenterCrop, RoundsHalvesToTheEvenNumber) {
  EXPECT_EQ(center_crop(10, 10, 5, 5).value(), (CropBox{2, 2, 5, 5}));               // 2.5 → 2
  EXPECT_EQ(center_crop(12, 13, 5, 5).value(), (CropBox{4, 4, 5, 5}));               // 3.5 → 4
  EXPECT_EQ(center_crop(500, 375, 224, 224).value(), (CropBox{138, 76, 224, 224}));  // 75.5 → 76
  EXPECT_FALSE(center_crop(10, 10, 11, 5));
  EXPECT_FALSE(center_crop(10, 10, 0, 5));
}

TEST(CenterCrop, TakesTheLargestPartOfAShape) {
  EXPECT_EQ(center_crop_to_shape(500, 375, 224, 224).value(), (CropBox{62, 0, 375, 375}));
  EXPECT_EQ(center_crop_to_shape(375, 500, 224, 224).value(), (CropBox{0, 62, 375, 375}));
  EXPECT_EQ(center_crop_to_shape(1920, 1080, 160, 90).value(), (CropBox{0, 0, 1920, 1080}));
  EXPECT_EQ(center_crop_to_shape(1, 1000, 500, 1).value(), (CropBox{0, 500, 1, 1}));
  EXPECT_FALSE(center_crop_to_shape(0, 5, 1, 1));
}

}  // namespace
}  // namespace framewire
