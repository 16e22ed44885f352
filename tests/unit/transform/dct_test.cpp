#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <transform/dct.hpp>
#include <transform/quant.hpp>

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
  for (int u = 0; u < 8; ++u) {
    for (int v = 0; v < 8; ++v) {
      const double cu = u == 0 ? 1.0 / std::sqrt(2.0) : 1.0;
      const double cv = v == 0 ? 1.0 / std::sqrt(2.0) : 1.0;
      sum += cu * cv * f[static_cast<std::size_t>(v * 8 + u)] *
             std::cos((2 * x + 1) * u * pi / 16) * std::cos((2 * y + 1) * v * pi / 16);
    }
  }
  return sum / 4.0;
}

template <int N>
std::array<double, N * N> reduced(const DctBasis<N>& across, const DctBasis<N>& down,
                                  const Block& f) {
  std::array<double, N * N> out{};
  idct<N>(across, down, f.data(), out.data());
  return out;
}

template <int N>
std::array<double, N * N> reduced(const Block& f) {
  return reduced<N>(make_corner_basis<N>(), make_corner_basis<N>(), f);
}

Block full(const Block& f) {
  const DctBasis<8> basis = make_dct_basis();
  return reduced<8>(basis, basis, f);
}

TEST(Dct, InverseIsTheFormulaOfT81) {
  const Block f = random_block(1, -1000, 1000);
  const Block out = full(f);
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      EXPECT_NEAR(out[static_cast<std::size_t>(y * 8 + x)], formula_idct(f, x, y), 1e-9);
    }
  }
}

TEST(Dct, ForwardThenInverseGivesTheBlockBack) {
  const DctBasis<8> basis = make_dct_basis();
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Block in = random_block(seed, -128, 127);
    Block f;
    fdct(basis, in.data(), f.data());
    const Block out = full(f);
    for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(out[i], in[i], 1e-10);
  }
}

/// The N-point orthonormal inverse of the corner, written out.
template <int N>
void expect_corner(const Block& f) {
  const auto small = reduced<N>(f);
  for (int y = 0; y < N; ++y) {
    for (int x = 0; x < N; ++x) {
      double sum = 0.0;
      for (int v = 0; v < N; ++v) {
        for (int u = 0; u < N; ++u) {
          sum += f[static_cast<std::size_t>(v * 8 + u)] * dct_cosine(N, x, u) * dct_cosine(N, y, v);
        }
      }
      EXPECT_NEAR(small[static_cast<std::size_t>(y * N + x)], sum * N / 8.0, 1e-9);
    }
  }
}

TEST(Dct, ReducedInverseTransformsTheLowFrequencyCorner) {
  const Block f = random_block(2, -1000, 1000);
  expect_corner<8>(f);
  expect_corner<6>(f);
  expect_corner<5>(f);
  expect_corner<4>(f);
  expect_corner<2>(f);
  expect_corner<1>(f);
}

template <int N>
void expect_flat(double dc) {
  Block f{};
  f[0] = dc;
  for (const double v : reduced<N>(f)) EXPECT_NEAR(v, dc / 8.0, 1e-10);
}

TEST(Dct, BlockOfDcAloneIsFlatAtEverySize) {
  expect_flat<8>(-777);
  expect_flat<6>(1016);
  expect_flat<5>(-1016);
  expect_flat<4>(1016);
  expect_flat<2>(1016);
  expect_flat<1>(-3);
}

template <int N>
void expect_repadded(int valid_columns, int valid_rows) {
  const Block in = random_block(4, -128, 127);
  Block repadded;
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      repadded[static_cast<std::size_t>(y * 8 + x)] = in[static_cast<std::size_t>(
          std::min(y, valid_rows - 1) * 8 + std::min(x, valid_columns - 1))];
    }
  }
  Block f;
  Block expected;
  fdct(make_dct_basis(), in.data(), f.data());
  fdct(make_dct_basis(), repadded.data(), expected.data());
  const auto out =
      reduced<N>(make_corner_basis<N>(valid_columns), make_corner_basis<N>(valid_rows), f);
  const auto plain = reduced<N>(expected);
  for (std::size_t i = 0; i < N * N; ++i) EXPECT_NEAR(out[i], plain[i], 1e-9);
}

TEST(Dct, PartlyFilledBlockRepeatsItsLastValidSamples) {
  for (int valid = 1; valid <= 8; ++valid) {
    expect_repadded<6>(valid, 9 - valid);
    expect_repadded<5>(8, valid);
    expect_repadded<4>(valid, 8);
    expect_repadded<2>(8, valid);
    expect_repadded<1>(valid, 9 - valid);
  }
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

}  // namespace
}  // namespace framewire::transform
