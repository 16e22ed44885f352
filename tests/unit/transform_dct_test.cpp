#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <transform/dct.hpp>
#include <transform/quant.hpp>
#include <transform/zigzag.hpp>

namespace framewire::transform {
namespace {

using Block = std::array<double, 64>;

Block random_block(std::uint32_t seed, double lowest, double highest) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> value(lowest, highest);
  Block block;
  for (double& v : block) v = value(engine);
  return block;
}

/// T.81 A.3.3 written out, all four loops.
double formula_idct(const Block& f, int x, int y) {
  const double pi = std::acos(-1.0);
  double sum = 0.0;
  for (int u = 0; u < 8; ++u)
    for (int v = 0; v < 8; ++v) {
      const double cu = u == 0 ? 1.0 / std::sqrt(2.0) : 1.0;
      const double cv = v == 0 ? 1.0 / std::sqrt(2.0) : 1.0;
      sum += cu * cv * f[static_cast<std::size_t>(v * 8 + u)] *
             std::cos((2 * x + 1) * u * pi / 16) * std::cos((2 * y + 1) * v * pi / 16);
    }
  return sum / 4.0;
}

template <int N>
std::array<double, N * N> reduced(const DctBasis<N>& basis, const Block& f) {
  std::array<double, N * N> out{};
  idct<N>(basis, f.data(), out.data());
  return out;
}

TEST(Dct, InverseIsTheFormulaOfT81) {
  const Block f = random_block(1, -1000, 1000);
  const auto out = reduced<8>(make_dct_basis(), f);
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 8; ++x)
      EXPECT_NEAR(out[static_cast<std::size_t>(y * 8 + x)], formula_idct(f, x, y), 1e-9);
}

TEST(Dct, ForwardThenInverseGivesTheBlockBack) {
  const DctBasis<8> basis = make_dct_basis();
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Block in = random_block(seed, -128, 127);
    Block f;
    fdct(basis, in.data(), f.data());
    const auto out = reduced<8>(basis, f);
    for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(out[i], in[i], 1e-10);
  }
}

template <int N>
void expect_mean(const Block& f) {
  const auto full = reduced<8>(make_dct_basis(), f);
  const auto small = reduced<N>(make_mean_basis<N>(), f);
  const int side = 8 / N;
  for (int y = 0; y < N; ++y)
    for (int x = 0; x < N; ++x) {
      double sum = 0.0;
      for (int j = 0; j < side; ++j)
        for (int i = 0; i < side; ++i)
          sum += full[static_cast<std::size_t>((y * side + j) * 8 + x * side + i)];
      EXPECT_NEAR(small[static_cast<std::size_t>(y * N + x)], sum / (side * side), 1e-9);
    }
}

TEST(Dct, MeanInverseAveragesTheFullInverse) {
  const Block f = random_block(2, -1000, 1000);
  expect_mean<8>(f);
  expect_mean<4>(f);
  expect_mean<2>(f);
  expect_mean<1>(f);
}

template <int N>
void expect_flat(double dc) {
  Block f{};
  f[0] = dc;
  for (const double v : reduced<N>(make_mean_basis<N>(), f)) EXPECT_NEAR(v, dc / 8.0, 1e-10);
  for (const double v : reduced<N>(make_corner_basis<N>(), f)) EXPECT_NEAR(v, dc / 8.0, 1e-10);
}

TEST(Dct, BlockOfDcAloneIsFlatAtEverySize) {
  expect_flat<8>(-777);
  expect_flat<4>(1016);
  expect_flat<2>(1016);
  expect_flat<1>(-3);
}

TEST(Dct, CornerInverseIgnoresFrequenciesThatDoNotFit) {
  Block f = random_block(3, -100, 100);
  const auto before = reduced<4>(make_corner_basis<4>(), f);
  for (std::size_t v = 0; v < 8; ++v)
    for (std::size_t u = 0; u < 8; ++u)
      if (u >= 4 || v >= 4) f[v * 8 + u] = 999;
  EXPECT_EQ(before, reduced<4>(make_corner_basis<4>(), f));
  EXPECT_NE(reduced<4>(make_mean_basis<4>(), f), before);
}

TEST(Dct, SampleIsShiftedRoundedAndClamped) {
  EXPECT_EQ(to_sample(0.0), 128);
  EXPECT_EQ(to_sample(0.5), 129);
  EXPECT_EQ(to_sample(-0.5), 128);
  EXPECT_EQ(to_sample(-0.51), 127);
  EXPECT_EQ(to_sample(1e6), 255);
  EXPECT_EQ(to_sample(-1e6), 0);
}

TEST(Quant, RoundsToNearestAndHalvesAwayFromZero) {
  EXPECT_EQ(quantise(24.9, 10), 2);
  EXPECT_EQ(quantise(25.0, 10), 3);
  EXPECT_EQ(quantise(-25.0, 10), -3);
  EXPECT_EQ(quantise(-24.9, 10), -2);
  EXPECT_EQ(quantise(0.4, 1), 0);
  EXPECT_EQ(dequantise(-32768, 65535), -32768 * 65535LL);
}

TEST(Zigzag, IsAPermutationThatWalksDiagonals) {
  std::array<bool, 64> seen{};
  for (int k = 0; k < 64; ++k) {
    const int n = natural_index(k);
    ASSERT_FALSE(seen[static_cast<std::size_t>(n)]);
    seen[static_cast<std::size_t>(n)] = true;
    if (k == 0) continue;
    const int before = natural_index(k - 1);
    const int step = (n / 8 + n % 8) - (before / 8 + before % 8);
    EXPECT_TRUE(step == 0 || step == 1) << k;
    EXPECT_LE(std::abs(n / 8 - before / 8), 1) << k;
    EXPECT_LE(std::abs(n % 8 - before % 8), 1) << k;
  }
  EXPECT_EQ(natural_index(1), 1);
  EXPECT_EQ(natural_index(2), 8);
}

}  // namespace
}  // namespace framewire::transform
