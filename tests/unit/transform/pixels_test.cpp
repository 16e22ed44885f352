// Colour, orientation and sharpening.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <transform/color.hpp>
#include <transform/orient.hpp>
#include <transform/sharpen.hpp>
#include <utility>
#include <vector>

namespace framewire::transform {
namespace {

TEST(Color, PrimariesAreThoseOfJfif) {
  const auto red = rgb_to_ycbcr<double>({255, 0, 0});
  EXPECT_NEAR(red.y, 76.245, 1e-9);
  EXPECT_NEAR(red.cb, 128 - 0.168735892 * 255, 1e-5);
  EXPECT_NEAR(red.cr, 255.5, 1e-9);
  const auto gray = rgb_to_ycbcr<double>({77, 77, 77});
  EXPECT_NEAR(gray.y, 77, 1e-12);
  EXPECT_NEAR(gray.cb, 128, 1e-12);
  EXPECT_NEAR(gray.cr, 128, 1e-12);
}

TEST(Color, RoundTripIsTheIdentity) {
  for (int r = 0; r < 256; r += 15) {
    for (int g = 0; g < 256; g += 15) {
      for (int b = 0; b < 256; b += 15) {
        const auto back = ycbcr_to_rgb(rgb_to_ycbcr(
            Rgb<double>{static_cast<double>(r), static_cast<double>(g), static_cast<double>(b)}));
        EXPECT_NEAR(back.r, r, 1e-10);
        EXPECT_NEAR(back.g, g, 1e-10);
        EXPECT_NEAR(back.b, b, 1e-10);
      }
    }
  }
}

TEST(Color, YcckCarriesTheInverseOfCmy) {
  const auto ycc = rgb_to_ycbcr<double>({255 - 10.0, 255 - 20.0, 255 - 30.0});
  const auto cmyk = ycck_to_cmyk<double>(ycc, 40.0);
  EXPECT_NEAR(cmyk.c, 10, 1e-10);
  EXPECT_NEAR(cmyk.m, 20, 1e-10);
  EXPECT_NEAR(cmyk.y, 30, 1e-10);
  EXPECT_EQ(cmyk.k, 40);
  EXPECT_NEAR(invert(cmyk).c, 245, 1e-10);
  EXPECT_EQ(invert(cmyk).k, 215);
}

/// Letters as stored; what a viewer shows for each orientation (EXIF's own table of row and
/// column).
std::string shown(int orientation) {
  const std::string stored = "abcdef";  // 3 wide, 2 high: abc / def
  const std::int32_t width = swaps_axes(orientation) ? 2 : 3;
  const std::int32_t height = swaps_axes(orientation) ? 3 : 2;
  std::string text;
  for (std::int32_t y = 0; y < height; ++y) {
    for (std::int32_t x = 0; x < width; ++x) {
      const PixelPosition from = stored_position(orientation, {x, y}, 3, 2);
      text += stored[static_cast<std::size_t>(from.y * 3 + from.x)];
    }
  }
  return text;
}

TEST(Orient, EveryOrientationShowsWhatExifSays) {
  EXPECT_EQ(shown(1), "abcdef");
  EXPECT_EQ(shown(2), "cbafed");
  EXPECT_EQ(shown(3), "fedcba");
  EXPECT_EQ(shown(4), "defabc");
  EXPECT_EQ(shown(5), "adbecf");  // row 0 is the left side, column 0 the top
  EXPECT_EQ(shown(6), "daebfc");  // row 0 is the right side: turn clockwise
  EXPECT_EQ(shown(7), "fcebda");
  EXPECT_EQ(shown(8), "cfbead");  // row 0 is the left side, column 0 the bottom
  EXPECT_EQ(shown(0), "abcdef");
  EXPECT_EQ(shown(9), "abcdef");
}

TEST(Sharpen, WeightsAreSymmetricAndSumToOne) {
  for (const double sigma : {0.3, 0.5, 1.0, 2.7, 10.0}) {
    const auto weights = gaussian_weights(sigma);
    ASSERT_EQ(weights.size(), 2u * static_cast<unsigned>(gaussian_radius(sigma)) + 1);
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1.0, 1e-12);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_EQ(weights[i], weights[weights.size() - 1 - i]);
    }
  }
  EXPECT_EQ(gaussian_radius(0.5), 2);
  EXPECT_EQ(gaussian_radius(1.0), 3);
}

TEST(Sharpen, FlatStaysFlatAndAnEdgeOvershoots) {
  std::vector<std::uint8_t> flat(7 * 5, 93);
  EXPECT_TRUE(sharpen_plane(flat, 7, 5, 1.5));
  EXPECT_EQ(flat, std::vector<std::uint8_t>(7 * 5, 93));

  std::vector<std::uint8_t> edge;
  for (int y = 0; y < 9; ++y) {
    for (int x = 0; x < 20; ++x) edge.push_back(x < 10 ? 100 : 150);
  }
  EXPECT_TRUE(sharpen_plane(edge, 20, 9, 1.0));
  const std::uint8_t* row = &edge[4 * 20];
  EXPECT_EQ(row[0], 100);
  EXPECT_EQ(row[19], 150);
  EXPECT_LT(row[9], 90);
  EXPECT_GT(row[10], 160);
  EXPECT_EQ(row[9] + row[10], 250);
}

// Sample by sample, as sharpen.hpp says.
std::vector<std::uint8_t> sharpened(const std::vector<std::uint8_t>& in, int width, int height,
                                    double sigma) {
  const std::vector<double> weights = gaussian_weights(sigma);
  const int radius = gaussian_radius(sigma);
  std::vector<std::uint8_t> out;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      double blurred = 0;
      for (int j = -radius; j <= radius; ++j) {
        double across = 0;
        for (int i = -radius; i <= radius; ++i) {
          across += weights[static_cast<std::size_t>(i + radius)] *
                    in[static_cast<std::size_t>(std::clamp(y + j, 0, height - 1) * width +
                                                std::clamp(x + i, 0, width - 1))];
        }
        blurred += weights[static_cast<std::size_t>(j + radius)] * across;
      }
      const double sample = in[static_cast<std::size_t>(y * width + x)];
      out.push_back(static_cast<std::uint8_t>(
          std::clamp(std::floor(unsharp<double>(sample, blurred) + 0.5), 0.0, 255.0)));
    }
  }
  return out;
}

TEST(Sharpen, IsTheSameInRowsAsSampleBySample) {
  for (const auto& [width, height] :
       {std::pair{1, 1}, {1, 40}, {40, 1}, {7, 5}, {8, 9}, {33, 70}, {65, 12}}) {
    for (const double sigma : {0.3, 1.0, 2.5, 10.0}) {
      std::vector<std::uint8_t> samples;
      for (int i = 0; i < width * height; ++i) {
        samples.push_back(static_cast<std::uint8_t>(i * 89 + i / width * 31));
      }
      const auto expected = sharpened(samples, width, height, sigma);
      EXPECT_TRUE(sharpen_plane(samples, width, height, sigma));
      EXPECT_EQ(samples, expected) << width << 'x' << height << ' ' << sigma;
    }
  }
}

TEST(Sharpen, EndsBehindTheRowAtWhichTheDeadlinePassed) {
  constexpr std::int32_t kSide = 100;
  std::vector<std::uint8_t> samples;
  for (int i = 0; i < kSide * kSide; ++i) {
    samples.push_back(static_cast<std::uint8_t>(i * 89 + i / kSide * 31));
  }
  const auto before = samples;
  const base::Deadline passed(base::Clock::now() - std::chrono::seconds(1), 1);
  EXPECT_FALSE(sharpen_plane(samples, kSide, kSide, 2.0, passed));
  EXPECT_NE(samples, before);
  EXPECT_TRUE(std::equal(samples.begin() + kSide, samples.end(), before.begin() + kSide));
  // A single row is done by then.
  std::vector<std::uint8_t> row(before.begin(), before.begin() + kSide);
  EXPECT_TRUE(sharpen_plane(row, kSide, 1, 2.0, passed));
}

TEST(Sharpen, OneSampleIsLeftAlone) {
  std::vector<std::uint8_t> one{201};
  EXPECT_TRUE(sharpen_plane(one, 1, 1, 3.0));
  EXPECT_EQ(one[0], 201);
}

}  // namespace
}  // namespace framewire::transform
