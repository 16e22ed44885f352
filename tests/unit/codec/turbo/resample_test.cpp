// The vector code of the CPU codec on every instruction set, against double precision.
#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <algorithm>
#include <cmath>
#include <codec/turbo/fixed_filter.hpp>
#include <codec/turbo/resample_passes.hpp>
#include <codec/turbo/row_resampler.hpp>
#include <codec/turbo/scaled_idct.hpp>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <transform/axis_filter.hpp>
#include <transform/dct.hpp>
#include <vector>

namespace framewire::codec::turbo {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr Kernel kKernels[] = {Kernel::kLanczos3, Kernel::kBicubic, Kernel::kBilinear,
                               Kernel::kArea, Kernel::kNearest};

/// Runs the vector code of every instruction set that this machine has.
template <typename Body>
void on_every_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

Bytes random_bytes(std::mt19937& random, std::size_t count) {
  Bytes out(count);
  for (auto& v : out) v = static_cast<std::uint8_t>(random());
  return out;
}

/// Reductions and enlargements, whole axes and parts of them, mirrored grids.
std::vector<plan::AxisMap> interesting_axes() {
  std::vector<plan::AxisMap> all;
  for (const std::int32_t in : {1, 2, 7, 8, 31, 64, 250}) {
    for (const std::int32_t out : {1, 3, 16, 61}) {
      all.push_back({in, out, 0, static_cast<double>(in) / out});
    }
  }
  all.push_back({100, 20, 33.25, 1.7});
  all.push_back({100, 51, -0.5, 1.0});
  all.push_back({100, 40, 90, 0.25});
  all.push_back({640, 10, 0, 64});
  return all;
}

std::string name(const plan::AxisMap& axis) {
  return std::to_string(axis.in_size) + "→" + std::to_string(axis.out_size) + " from " +
         std::to_string(axis.origin) + " by " + std::to_string(axis.step);
}

transform::AxisFilter exact_filter(Kernel kernel, const plan::AxisMap& axis) {
  return transform::make_axis_filter(kernel, {axis.in_size, axis.out_size, axis.origin, axis.step});
}

TEST(TurboFixedFilter, RoundsTheExactTapsAndSumsToOne) {
  for (const Kernel kernel : kKernels) {
    for (const auto& axis : interesting_axes()) {
      SCOPED_TRACE(name(axis));
      const FixedFilter fixed = make_fixed_filter(kernel, axis);
      const transform::AxisFilter exact = exact_filter(kernel, axis);
      ASSERT_EQ(fixed.stride % kTapGroup, 0);
      ASSERT_EQ(fixed.weights.size(), static_cast<std::size_t>(axis.out_size) * fixed.stride);
      for (std::int32_t j = 0; j < axis.out_size; ++j) {
        ASSERT_EQ(fixed.first[j], exact.first[j]);
        ASSERT_EQ(fixed.count[j], exact.count[j]);
        int sum = 0;
        for (std::int32_t k = 0; k < fixed.stride; ++k) {
          const int weight = fixed.weights[static_cast<std::size_t>(j * fixed.stride + k)];
          sum += weight;
          const double wanted =
              k < fixed.count[j]
                  ? exact.weights[static_cast<std::size_t>(j) * exact.taps + k] * (1 << kTapBits)
                  : 0.0;
          ASSERT_NEAR(weight, wanted, k < fixed.count[j] ? 1.51 : 0.0) << j << ' ' << k;
        }
        ASSERT_EQ(sum, 1 << kTapBits);
      }
    }
  }
}

TEST(TurboFixedFilter, HugeReductionsStillWeighAlike) {
  // Every tap is 1.56 of 2^14 here: what rounding takes must not come back in one place.
  const FixedFilter filter = make_fixed_filter(Kernel::kArea, {10'500, 1, 0, 10'500});
  const auto [least, most] =
      std::minmax_element(filter.weights.begin(), filter.weights.begin() + filter.count[0]);
  EXPECT_GE(*least, 0);
  EXPECT_LE(*most, 3);
}

TEST(TurboFixedFilter, TheCacheKeepsAndShares) {
  FixedFilterCache cache;
  const plan::AxisMap axis{100, 50, 0, 2};
  const auto first = cache.get(Kernel::kLanczos3, axis);
  EXPECT_EQ(cache.get(Kernel::kLanczos3, axis), first);
  EXPECT_NE(cache.get(Kernel::kBicubic, axis), first);
  EXPECT_NE(cache.get(Kernel::kLanczos3, {100, 50, 0.5, 2}), first);
  for (std::int32_t i = 1; i < 200; ++i) {  // more than it holds, the first one always in use
    static_cast<void>(cache.get(Kernel::kArea, {100 + i, 50, 0, 2}));
    ASSERT_EQ(cache.get(Kernel::kLanczos3, axis), first);
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (std::int32_t i = 0; i < 200; ++i) {
        const plan::AxisMap other{60 + (i + t) % 70, 30, 0, 2};
        const auto filter = cache.get(Kernel::kArea, other);
        if (filter->in_size != other.in_size) std::abort();
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

/// Rows with exactly the slack that the passes may touch, so that a sanitizer sees a step further.
TEST(TurboPasses, CombineRowsIsTheIntegerFormulaEverywhere) {
  std::mt19937 random(1);
  on_every_target([&] {
    for (std::int32_t width = 1; width < 150; width += 1 + width / 9) {
      for (const std::int32_t count : {1, 2, 3, 7, 12}) {
        std::vector<Bytes> storage;
        std::vector<const std::uint8_t*> rows;
        for (std::int32_t k = 0; k < count; ++k) {
          storage.push_back(random_bytes(random, static_cast<std::size_t>(width) + kRowSlack));
          rows.push_back(storage.back().data());
        }
        std::vector<std::int16_t> weights(static_cast<std::size_t>(count));
        int rest = 1 << kTapBits;
        for (auto& w : weights) {
          w = static_cast<std::int16_t>(static_cast<int>(random() % 6000) - 1500);
          rest -= w;
        }
        weights[0] = static_cast<std::int16_t>(
            std::clamp(weights[0] + rest, -(1 << kTapBits), (1 << kTapBits) + 4000));
        std::vector<std::int16_t> out(static_cast<std::size_t>(width) + kRowSlack);
        combine_rows(rows.data(), weights.data(), count, width, out.data());
        for (std::int32_t x = 0; x < width; ++x) {
          int sum = 1 << (kTapBits - kMidBits - 1);
          double exact = 0;
          for (std::int32_t k = 0; k < count; ++k) {
            sum += weights[k] * rows[k][x];
            exact += weights[k] * rows[k][x];
          }
          const int expected = std::clamp(sum >> (kTapBits - kMidBits), -32768, 32767);
          ASSERT_EQ(out[x], expected) << width << " wide, " << count << " rows, at " << x;
          ASSERT_NEAR(out[x], exact / (1 << (kTapBits - kMidBits)), 0.51);
        }
      }
    }
  });
}

TEST(TurboPasses, FilterRowIsTheIntegerFormulaEverywhere) {
  std::mt19937 random(2);
  std::vector<std::pair<FixedFilter, std::vector<std::int16_t>>> cases;
  for (const Kernel kernel : kKernels) {
    for (const auto& axis : interesting_axes()) {
      const FixedFilter filter = make_fixed_filter(kernel, axis);
      std::vector<std::int16_t> in(static_cast<std::size_t>(axis.in_size) +
                                   static_cast<std::size_t>(filter.stride) + kRowSlack);
      for (auto& v : in) v = static_cast<std::int16_t>(static_cast<int>(random() % 20'000) - 1800);
      cases.emplace_back(filter, std::move(in));
    }
  }
  on_every_target([&] {
    for (const auto& [filter, in] : cases) {
      Bytes out(static_cast<std::size_t>(filter.out_size) + 1, 7);
      filter_row(in.data(), filter, out.data());
      for (std::int32_t j = 0; j < filter.out_size; ++j) {
        int sum = 1 << (kTapBits + kMidBits - 1);
        for (std::int32_t k = 0; k < filter.count[j]; ++k) {
          sum += filter.weights[static_cast<std::size_t>(j * filter.stride + k)] *
                 in[static_cast<std::size_t>(filter.first[j] + k)];
        }
        ASSERT_EQ(out[j], std::clamp(sum >> (kTapBits + kMidBits), 0, 255))
            << filter.in_size << "→" << filter.out_size << " at " << j;
      }
      ASSERT_EQ(out.back(), 7) << "wrote over the end";
    }
  });
}

struct CollectRows final : RowSink {
  void row(int plane, const std::uint8_t* samples) override {
    EXPECT_EQ(plane, 3);
    out.insert(out.end(), samples, samples + width);
  }
  std::ptrdiff_t width = 0;
  Bytes out;
};

/// Pushes rows in buffers of exactly their length, so that a sanitizer sees a step further.
Bytes resample(Kernel kernel, const plan::AxisMap& x, const plan::AxisMap& y, const Bytes& in) {
  RowResampler resampler(3, std::make_shared<FixedFilter>(make_fixed_filter(kernel, x)),
                         std::make_shared<FixedFilter>(make_fixed_filter(kernel, y)));
  CollectRows sink;
  sink.width = x.out_size;
  for (std::int32_t row = 0; row < y.in_size; ++row) {
    const Bytes line(in.begin() + std::ptrdiff_t{row} * x.in_size,
                     in.begin() + std::ptrdiff_t{row + 1} * x.in_size);
    resampler.push(line.data(), sink);
  }
  EXPECT_TRUE(resampler.done());
  return sink.out;
}

std::vector<double> exact_resample(Kernel kernel, const plan::AxisMap& x, const plan::AxisMap& y,
                                   const Bytes& in) {
  const auto across = exact_filter(kernel, x), down = exact_filter(kernel, y);
  std::vector<double> middle(static_cast<std::size_t>(x.in_size) * y.out_size);
  for (std::int32_t j = 0; j < y.out_size; ++j) {
    for (std::int32_t k = 0; k < down.count[j]; ++k) {
      for (std::int32_t c = 0; c < x.in_size; ++c) {
        middle[static_cast<std::size_t>(j) * x.in_size + c] +=
            down.weights[static_cast<std::size_t>(j) * down.taps + k] *
            in[static_cast<std::size_t>(down.first[j] + k) * x.in_size + c];
      }
    }
  }
  std::vector<double> out(static_cast<std::size_t>(x.out_size) * y.out_size);
  for (std::int32_t j = 0; j < y.out_size; ++j) {
    for (std::int32_t i = 0; i < x.out_size; ++i) {
      for (std::int32_t k = 0; k < across.count[i]; ++k) {
        out[static_cast<std::size_t>(j) * x.out_size + i] +=
            across.weights[static_cast<std::size_t>(i) * across.taps + k] *
            middle[static_cast<std::size_t>(j) * x.in_size + across.first[i] + k];
      }
    }
  }
  return out;
}

void expect_resampled(Kernel kernel, const plan::AxisMap& x, const plan::AxisMap& y,
                      const Bytes& in) {
  const Bytes found = resample(kernel, x, y, in);
  const auto exact = exact_resample(kernel, x, y, in);
  ASSERT_EQ(found.size(), exact.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], std::clamp(exact[i], 0.0, 255.0), 0.8)
        << name(x) << ", " << name(y) << " at " << i;
  }
}

TEST(TurboResampler, EveryKernelIsWithinRoundingOfDouble) {
  std::mt19937 random(3);
  const auto axes = interesting_axes();
  on_every_target([&] {
    for (const Kernel kernel : kKernels) {
      for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto& y = axes[(i * 7 + 3) % axes.size()];
        expect_resampled(kernel, axes[i], y,
                         random_bytes(random, static_cast<std::size_t>(axes[i].in_size) *
                                                  static_cast<std::size_t>(y.in_size)));
      }
    }
  });
}

TEST(TurboResampler, FullContrastNeverWraps) {
  // Checkers of black and white drive every kernel's overshoot to its limit.
  const plan::AxisMap axes[] = {
      {96, 96, 0, 1}, {96, 95, 0, 96.0 / 95}, {96, 200, 0, 0.48}, {96, 31, 0, 96.0 / 31}};
  for (const int period : {1, 2, 3, 5}) {
    Bytes in(96 * 96);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const auto cell =
          (i % 96) / static_cast<unsigned>(period) + i / 96 / static_cast<unsigned>(period);
      in[i] = cell % 2 == 0 ? 0 : 255;
    }
    for (const Kernel kernel : kKernels) {
      for (const auto& x : axes) {
        for (const auto& y : axes) expect_resampled(kernel, x, y, in);
      }
    }
  }
}

TEST(TurboResampler, FlatPicturesStayFlat) {
  for (const int level : {0, 1, 128, 254, 255}) {
    for (const Kernel kernel : kKernels) {
      for (const auto& axis : interesting_axes()) {
        const Bytes in(static_cast<std::size_t>(axis.in_size) * axis.in_size,
                       static_cast<std::uint8_t>(level));
        const Bytes out = resample(kernel, axis, axis, in);
        ASSERT_TRUE(std::all_of(out.begin(), out.end(), [&](int v) { return v == level; }))
            << level << ' ' << name(axis);
      }
    }
  }
}

TEST(TurboResampler, MirroredMapsGiveMirroredPictures) {
  std::mt19937 random(4);
  const Bytes in = random_bytes(random, 101 * 77);
  Bytes mirrored(in.rbegin(), in.rend());
  for (const Kernel kernel : kKernels) {
    if (kernel == Kernel::kNearest) continue;  // a centre between two samples takes the right one
    const plan::AxisMap x{101, 40, 0, 101.0 / 40}, y{77, 31, 0, 77.0 / 31};
    const Bytes a = resample(kernel, x, y, in);
    Bytes b = resample(kernel, x, y, mirrored);
    std::reverse(b.begin(), b.end());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1) << i;
  }
}

/// Dequantised coefficients of one block as doubles.
std::vector<double> dequantised(const std::int16_t* coefficients, const std::uint16_t* quantiser) {
  std::vector<double> out(64);
  for (std::size_t i = 0; i < 64; ++i) out[i] = static_cast<double>(coefficients[i]) * quantiser[i];
  return out;
}

template <int N>
std::vector<double> exact_block(const std::vector<double>& coefficients, int columns, int rows) {
  std::vector<double> samples(N * N);
  transform::idct<N>(transform::make_corner_basis<N>(columns),
                     transform::make_corner_basis<N>(rows), coefficients.data(), samples.data());
  for (double& v : samples) v = std::clamp(v + 128.0, 0.0, 255.0);
  return samples;
}

struct Block {
  alignas(16) std::int16_t coefficients[64] = {};
  std::uint16_t quantiser[64] = {};
};

/// Natural-looking, noisy, and absurd blocks.
std::vector<Block> interesting_blocks() {
  std::mt19937 random(6);
  std::vector<Block> all;
  for (int i = 0; i < 300; ++i) {
    Block b;
    const int kind = i % 4;
    for (int k = 0; k < 64; ++k) {
      b.quantiser[k] = static_cast<std::uint16_t>(1 + random() % (kind == 3 ? 65'535u : 40u));
      const int range = kind == 0 ? 40 / (1 + k) + 1 : kind == 1 ? 12 : kind == 2 ? 1024 : 32'767;
      b.coefficients[k] = static_cast<std::int16_t>(
          static_cast<int>(random() % static_cast<unsigned>(2 * range + 1)) - range);
    }
    all.push_back(b);
  }
  all.emplace_back();
  return all;
}

/// Rows of exactly the block's width behind `column` bytes that must not change.
template <int N, typename Transform>
void expect_block(const Transform& transform, const std::vector<double>& exact, double bound) {
  constexpr std::uint32_t kColumn = 3;
  std::vector<Bytes> storage(N, Bytes(kColumn + N, 99));
  std::vector<std::uint8_t*> rows;
  for (Bytes& row : storage) rows.push_back(row.data());
  transform(rows.data(), kColumn);
  for (std::size_t y = 0; y < N; ++y) {
    for (std::size_t x = 0; x < N; ++x) {
      ASSERT_NEAR(storage[y][kColumn + x], exact[y * N + x], bound) << x << ',' << y;
    }
    for (std::size_t x = 0; x < kColumn; ++x) ASSERT_EQ(storage[y][x], 99);
  }
}

template <int N>
void expect_whole_blocks() {
  for (const Block& block : interesting_blocks()) {
    const auto dequantiser = make_scaled_dequantiser(block.quantiser);
    const auto exact = exact_block<N>(dequantised(block.coefficients, block.quantiser), 8, 8);
    expect_block<N>(
        [&](std::uint8_t* const* rows, std::uint32_t column) {
          idct_run(block.coefficients, 1, dequantiser, N, rows, column);
        },
        exact, 0.51);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(TurboScaledIdct, WholeBlocksAreTheExactCorner) {
  on_every_target([] {
    expect_whole_blocks<6>();
    expect_whole_blocks<5>();
    expect_whole_blocks<4>();
    expect_whole_blocks<2>();
    expect_whole_blocks<1>();
  });
}

/// Blocks side by side have the samples that each has alone, and nothing behind them changes.
void expect_runs(int scale) {
  const auto blocks = interesting_blocks();
  const auto n = static_cast<std::size_t>(scale);
  const auto dequantiser = make_scaled_dequantiser(blocks[0].quantiser);
  for (const std::size_t count : {1u, 2u, 3u, 8u, 61u}) {
    std::vector<std::int16_t> coefficients;
    std::vector<Bytes> run(n, Bytes(n * count, 99)), alone = run;
    std::vector<std::uint8_t*> run_rows, alone_rows;
    for (Bytes& row : run) run_rows.push_back(row.data());
    for (Bytes& row : alone) alone_rows.push_back(row.data());
    for (std::size_t i = 0; i < count; ++i) {
      const Block& block = blocks[4 * i % blocks.size()];  // natural-looking ones
      coefficients.insert(coefficients.end(), block.coefficients, block.coefficients + 64);
      idct_run(block.coefficients, 1, dequantiser, scale, alone_rows.data(),
               static_cast<std::uint32_t>(n * i));
    }
    idct_run(coefficients.data(), static_cast<std::uint32_t>(count), dequantiser, scale,
             run_rows.data(), 0);
    ASSERT_EQ(run, alone) << scale << "/8, " << count;
  }
}

TEST(TurboScaledIdct, BlocksSideBySideAreThoseAlone) {
  on_every_target([] {
    for (const int scale : plan::kReducedScales) expect_runs(scale);
  });
}

template <int N>
void expect_partial_blocks() {
  const auto blocks = interesting_blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    const auto dequantiser = make_scaled_dequantiser(block.quantiser);
    const auto coefficients = dequantised(block.coefficients, block.quantiser);
    double largest = 0;
    for (const double c : coefficients) largest = std::max(largest, std::fabs(c));
    for (int columns = 1; columns <= 8; ++columns) {
      for (int rows = 1; rows <= 8; ++rows) {
        if ((static_cast<int>(i) + columns + rows) % 3 != 0) continue;
        // Single precision over 64 terms: huge coefficients that cancel leave a relative error.
        expect_block<N>(
            [&](std::uint8_t* const* out, std::uint32_t column) {
              idct_partial(block.coefficients, dequantiser, N, columns, rows, out, column);
            },
            exact_block<N>(coefficients, columns, rows), 0.51 + largest * 1e-5);
        ASSERT_FALSE(testing::Test::HasFatalFailure())
            << N << "/8, " << columns << "×" << rows << " valid";
      }
    }
  }
}

TEST(TurboScaledIdct, PartialBlocksRepeatTheirLastSamples) {
  on_every_target([] {
    expect_partial_blocks<6>();
    expect_partial_blocks<5>();
    expect_partial_blocks<4>();
    expect_partial_blocks<2>();
    expect_partial_blocks<1>();
  });
}

}  // namespace
}  // namespace framewire::codec::turbo
