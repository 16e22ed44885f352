// The single-precision transforms of the CUDA codec against the double-precision formulas.
#include <gtest/gtest.h>
#include <codec/cuda/transforms.hpp>
#include <codec/cuda/zigzag.hpp>
#include <jpeg/zigzag.hpp>
#include <random>
#include <transform/dct.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr float kBound = 2e-3f;  // of samples: far below half a step

std::array<double, 64> random_block(unsigned seed, double range) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-range, range);
  std::array<double, 64> block{};
  for (double& x : block) x = value(random);
  return block;
}

/// The N×N corner through the 1-D transform under test, rows then columns.
template <int N, typename Transform>
std::array<double, N * N> run_corner(const std::array<double, 64>& block, Transform transform) {
  float c[N][N];
  for (int v = 0; v < N; ++v) {
    for (int u = 0; u < N; ++u) {
      c[v][u] = static_cast<float>(block[static_cast<std::size_t>(v * 8 + u)]);
    }
  }
  for (int v = 0; v < N; ++v) transform(&c[v][0], 1);
  for (int x = 0; x < N; ++x) transform(&c[0][x], N);
  std::array<double, N * N> out{};
  for (int y = 0; y < N; ++y) {
    for (int x = 0; x < N; ++x) out[static_cast<std::size_t>(y * N + x)] = c[y][x];
  }
  return out;
}

template <int N, typename Transform>
void expect_corner(Transform transform) {
  const auto basis = transform::make_corner_basis<N>();
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto block = random_block(seed, 1000);
    double expected[N * N];
    transform::idct<N>(basis, basis, block.data(), expected);
    const auto got = run_corner<N>(block, transform);
    for (int i = 0; i < N * N; ++i) {
      ASSERT_NEAR(got[static_cast<std::size_t>(i)], expected[i], kBound) << "sample " << i;
    }
  }
}

TEST(CudaTransforms, FullInverseMatchesTheFormula) {
  expect_corner<8>([](float* a, int s) {
    inverse_8(a[0], a[s], a[2 * s], a[3 * s], a[4 * s], a[5 * s], a[6 * s], a[7 * s]);
  });
}

TEST(CudaTransforms, SixEighthsInverseMatchesTheFormula) {
  expect_corner<6>(
      [](float* a, int s) { inverse_6(a[0], a[s], a[2 * s], a[3 * s], a[4 * s], a[5 * s]); });
}

TEST(CudaTransforms, FiveEighthsInverseMatchesTheFormula) {
  expect_corner<5>([](float* a, int s) { inverse_5(a[0], a[s], a[2 * s], a[3 * s], a[4 * s]); });
}

TEST(CudaTransforms, HalfSizeInverseMatchesTheFormula) {
  expect_corner<4>([](float* a, int s) { inverse_4(a[0], a[s], a[2 * s], a[3 * s]); });
}

TEST(CudaTransforms, QuarterSizeInverseMatchesTheFormula) {
  expect_corner<2>([](float* a, int s) { inverse_2(a[0], a[s]); });
}

TEST(CudaTransforms, ForwardMatchesTheFormula) {
  const auto basis = transform::make_dct_basis();
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto block = random_block(seed, 128);
    double expected[64];
    transform::fdct(basis, block.data(), expected);
    const auto got = run_corner<8>(block, [](float* a, int s) {
      forward_8(a[0], a[s], a[2 * s], a[3 * s], a[4 * s], a[5 * s], a[6 * s], a[7 * s]);
    });
    for (int i = 0; i < 64; ++i) {
      ASSERT_NEAR(got[static_cast<std::size_t>(i)], expected[i], kBound) << "coefficient " << i;
    }
  }
}

TEST(CudaTransforms, SamplesAreRoundedHalfUpAndClamped) {
  EXPECT_EQ(to_byte(-128.6f), 0u);
  EXPECT_EQ(to_byte(-0.5f), 128u);
  EXPECT_EQ(to_byte(-0.51f), 127u);
  EXPECT_EQ(to_byte(126.49f), 254u);
  EXPECT_EQ(to_byte(126.5f), 255u);
  EXPECT_EQ(to_byte(1e6f), 255u);
}

TEST(CudaTransforms, ZigzagFunctionAgreesWithTheTable) {
  for (std::uint32_t k = 0; k < 64; ++k) {
    EXPECT_EQ(natural_position(k), jpeg::kNaturalOrder[k]) << k;
  }
}

}  // namespace
}  // namespace framewire::codec::cuda
