#include <gtest/gtest.h>
#include <cmath>
#include <numeric>
#include <random>
#include <transform/axis_filter.hpp>
#include <transform/kernels.hpp>

namespace framewire::transform {
namespace {

constexpr Kernel kKernels[] = {Kernel::kLanczos3, Kernel::kBicubic, Kernel::kBilinear,
                               Kernel::kArea, Kernel::kNearest};

const double* row_of(const AxisFilter& filter, std::int32_t j) {
  return &filter.weights[static_cast<std::size_t>(j) * filter.taps];
}

void expect_sound(const AxisFilter& filter, const AxisGeometry& geometry) {
  ASSERT_EQ(filter.first.size(), static_cast<std::size_t>(geometry.out_size));
  ASSERT_EQ(filter.weights.size(), static_cast<std::size_t>(geometry.out_size) * filter.taps);
  std::int32_t longest = 0;
  for (std::int32_t j = 0; j < geometry.out_size; ++j) {
    ASSERT_GE(filter.first[j], 0);
    ASSERT_GE(filter.count[j], 1);
    ASSERT_LE(filter.count[j], filter.taps);
    ASSERT_LE(filter.first[j] + filter.count[j], geometry.in_size);
    longest = std::max(longest, filter.count[j]);
    const double* row = row_of(filter, j);
    EXPECT_NEAR(std::accumulate(row, row + filter.taps, 0.0), 1.0, 1e-12);
    for (std::int32_t i = filter.count[j]; i < filter.taps; ++i) ASSERT_EQ(row[i], 0.0);
  }
  EXPECT_EQ(longest, filter.taps);
}

TEST(AxisFilter, TapsStayInRangeAndSumToOneForRandomGeometries) {
  std::mt19937 engine(7);
  std::uniform_int_distribution<std::int32_t> size(1, 300);
  std::uniform_real_distribution<double> part(0.0, 1.0);
  for (int round = 0; round < 400; ++round) {
    AxisGeometry geometry{size(engine), size(engine), 0, 1};
    const double begin = geometry.in_size * 0.5 * part(engine);
    const double used = (geometry.in_size - begin) * (0.05 + 0.95 * part(engine));
    geometry.origin = begin;
    geometry.step = used / geometry.out_size;
    for (const Kernel kernel : kKernels) expect_sound(make_axis_filter(kernel, geometry), geometry);
  }
}

TEST(AxisFilter, GeometryBeyondTheInputFoldsOntoItsEdge) {
  for (const Kernel kernel : kKernels) {
    const AxisGeometry geometry{4, 3, -20.0, 2.0};
    const AxisFilter filter = make_axis_filter(kernel, geometry);
    expect_sound(filter, geometry);
    for (std::int32_t j = 0; j < 3; ++j) {
      EXPECT_EQ(filter.first[j], 0);
      EXPECT_NEAR(row_of(filter, j)[0], 1.0, 1e-12);
    }
  }
}

TEST(AxisFilter, AreaWeighsByOverlapExactly) {
  const AxisFilter filter = make_axis_filter(Kernel::kArea, {10, 4, 0.0, 2.5});
  const double expected[4][3] = {
      {0.4, 0.4, 0.2}, {0.2, 0.4, 0.4}, {0.4, 0.4, 0.2}, {0.2, 0.4, 0.4}};
  const std::int32_t first[4] = {0, 2, 5, 7};
  for (std::int32_t j = 0; j < 4; ++j) {
    EXPECT_EQ(filter.first[j], first[j]);
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(row_of(filter, j)[i], expected[j][i], 1e-12);
  }
}

TEST(AxisFilter, AreaKeepsTheMeanWhateverTheSizes) {
  for (std::int32_t out = 1; out <= 37; ++out) {
    const AxisFilter filter = make_axis_filter(Kernel::kArea, {37, out, 0.0, 37.0 / out});
    std::vector<double> share(37, 0.0);
    for (std::int32_t j = 0; j < out; ++j) {
      for (std::int32_t i = 0; i < filter.count[j]; ++i) {
        share[filter.first[j] + i] += row_of(filter, j)[i];
      }
    }
    for (const double s : share) EXPECT_NEAR(s, out / 37.0, 1e-12) << out;
  }
}

TEST(AxisFilter, SameSizeIsTheIdentity) {
  for (const Kernel kernel : kKernels) {
    const AxisFilter filter = make_axis_filter(kernel, {9, 9, 0.0, 1.0});
    for (std::int32_t j = 0; j < 9; ++j) {
      for (std::int32_t i = 0; i < filter.count[j]; ++i) {
        EXPECT_NEAR(row_of(filter, j)[i], filter.first[j] + i == j ? 1.0 : 0.0, 1e-12);
      }
    }
  }
}

TEST(AxisFilter, MirroredGeometryHasMirroredTaps) {
  for (const Kernel kernel :
       {Kernel::kLanczos3, Kernel::kBicubic, Kernel::kBilinear, Kernel::kArea}) {
    const AxisFilter filter = make_axis_filter(kernel, {101, 23, 0.0, 101.0 / 23});
    for (std::int32_t j = 0; j < 23; ++j) {
      std::vector<double> there(101, 0.0);
      std::vector<double> back(101, 0.0);
      for (std::int32_t i = 0; i < filter.count[j]; ++i) {
        there[filter.first[j] + i] = row_of(filter, j)[i];
      }
      for (std::int32_t i = 0; i < filter.count[22 - j]; ++i) {
        back[100 - filter.first[22 - j] - i] = row_of(filter, 22 - j)[i];
      }
      for (std::size_t k = 0; k < 101; ++k) EXPECT_NEAR(there[k], back[k], 1e-12);
    }
  }
}

TEST(Kernels, Lanczos3IsTheProductOfTwoSines) {
  const auto sinc = [](double x) {
    const double t = 3.14159265358979323846 * x;
    return x == 0 ? 1.0 : std::sin(t) / t;
  };
  for (int i = 0; i < 30'000; ++i) {
    const double x = i * 1e-4;
    ASSERT_NEAR(lanczos3(x), sinc(x) * sinc(x / 3), 1e-15) << x;
  }
}

TEST(Kernels, AreContinuousAndInterpolating) {
  for (const Kernel kernel : {Kernel::kLanczos3, Kernel::kBicubic, Kernel::kBilinear}) {
    EXPECT_NEAR(kernel_value(kernel, 0.0), 1.0, 1e-15);
    for (double x = 1.0; x <= kernel_support(kernel); x += 1.0) {
      EXPECT_NEAR(kernel_value(kernel, x), 0.0, 1e-15);
    }
    for (double x = -4.0; x < 4.0; x += 0.01) {
      EXPECT_NEAR(kernel_value(kernel, x), kernel_value(kernel, x + 1e-7), 1e-6);
      EXPECT_NEAR(kernel_value(kernel, x), kernel_value(kernel, -x), 1e-15);
    }
  }
}

}  // namespace
}  // namespace framewire::transform
