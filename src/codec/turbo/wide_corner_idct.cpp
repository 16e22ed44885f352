#include <cmath>
#include <codec/turbo/wide_corner_idct.hpp>
#include <cstddef>
#include <cstring>
#include <transform/dct.hpp>

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/turbo/wide_corner_idct.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace framewire::codec::turbo {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A row of a block, or a half or less of it where vectors are shorter.
using RowTag = hn::CappedTag<float, 8>;
using RowVector = hn::Vec<RowTag>;

/// 128 in each sample: what the transform makes of DC is an eighth of it.
alignas(32) constexpr float kLevelShift[8] = {1024.0f};

HWY_INLINE RowVector load_levels(RowTag d, const std::int16_t* levels, const float* quantiser) {
  const hn::Rebind<std::int16_t, RowTag> d16;
  const hn::Rebind<std::int32_t, RowTag> d32;
  return hn::Mul(hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d16, levels))),
                 hn::LoadU(d, quantiser));
}

/// @param samples  level shift included
HWY_INLINE void store_samples(RowTag d, RowVector samples, std::uint8_t* out) {
  const hn::Rebind<std::uint8_t, RowTag> d8;
  const hn::RebindToUnsigned<RowTag> d32;
  const RowVector clamped = hn::Min(hn::Max(samples, hn::Zero(d)), hn::Set(d, 255.0f));
  // In 2^23 + sample, rounded by the addition, the sample's bits are the lowest.
  const auto bits = hn::BitCast(d32, hn::Add(clamped, hn::Set(d, 8388608.0f)));
  hn::StoreU(hn::U8FromU32(hn::And(bits, hn::Set(d32, 255))), d8, out);
}

/// @param row    (v, i): coefficients i and on of row v of the corner
/// @param basis  [N][8]: the samples of each frequency, zeros behind the N-th
/// @param store  (y, i, samples i and on of row y), for all 8 of each row in turn
template <int N, class Row, class Store>
HWY_INLINE void transform(const Row& row, const float* basis, const Store& store) {
  const RowTag d;
  alignas(32) float lines[N][8];
  for (std::size_t i = 0; i < 8; i += hn::Lanes(d)) {
    RowVector in[N];
    for (int v = 0; v < N; ++v) in[v] = row(v, i);
    in[0] = hn::Add(in[0], hn::Load(d, kLevelShift + i));
    for (int y = 0; y < (N + 1) / 2; ++y) {
      const auto weight = [&](int v) HWY_ATTR { return hn::Set(d, basis[8 * v + y]); };
      RowVector even = hn::Mul(weight(0), in[0]);
      for (int v = 2; v < N; v += 2) even = hn::MulAdd(weight(v), in[v], even);
      RowVector odd = hn::Mul(weight(1), in[1]);
      for (int v = 3; v < N; v += 2) odd = hn::MulAdd(weight(v), in[v], odd);
      hn::Store(hn::Add(even, odd), d, lines[y] + i);
      if (2 * y + 1 != N) hn::Store(hn::Sub(even, odd), d, lines[N - 1 - y] + i);
    }
  }
  for (int y = 0; y < N; ++y) {
    for (std::size_t i = 0; i < 8; i += hn::Lanes(d)) {
      RowVector sum = hn::Mul(hn::Set(d, lines[y][0]), hn::Load(d, basis + i));
      for (int u = 1; u < N; ++u) {
        sum = hn::MulAdd(hn::Set(d, lines[y][u]), hn::Load(d, basis + 8 * u + i), sum);
      }
      store(y, i, sum);
    }
  }
}

/// Writes N bytes of each row.
template <int N, class Row>
HWY_INLINE void transform_alone(const Row& row, const float* basis, std::uint8_t* const* rows,
                                std::uint32_t column) {
  const RowTag d;
  std::uint8_t samples[8];
  transform<N>(row, basis, [&](int y, std::size_t i, RowVector sum) HWY_ATTR {
    store_samples(d, sum, samples + i);
    if (i + hn::Lanes(d) == 8) std::memcpy(rows[y] + column, samples, N);
  });
}

template <int N>
HWY_INLINE void run(const std::int16_t* coefficients, std::uint32_t count, const float* quantiser,
                    const float* basis, std::uint8_t* const* rows, std::uint32_t column) {
  const RowTag d;
  for (; count > 0; --count, coefficients += 64, column += N) {
    const auto row = [&](int v, std::size_t i) HWY_ATTR {
      const std::size_t at = 8 * static_cast<std::size_t>(v) + i;
      return load_levels(d, coefficients + at, quantiser + at);
    };
    if (count == 1) {
      transform_alone<N>(row, basis, rows, column);
    } else {  // the next block overwrites what is written behind this one
      transform<N>(row, basis, [&](int y, std::size_t i, RowVector sum) HWY_ATTR {
        store_samples(d, sum, rows[y] + column + i);
      });
    }
  }
}

template <int N>
HWY_INLINE void cut(const std::int16_t* coefficients, const float* quantiser, const float* repad,
                    const float* basis, std::uint8_t* const* rows, std::uint32_t column) {
  const RowTag d;
  const auto row = [&](int v, std::size_t i) HWY_ATTR {
    RowVector sum = hn::Zero(d);
    for (int k = 0; k < 8; ++k) {
      const std::size_t at = 8 * static_cast<std::size_t>(k) + i;
      sum = hn::MulAdd(hn::Set(d, repad[8 * v + k]),
                       load_levels(d, coefficients + at, quantiser + at), sum);
    }
    return sum;
  };
  transform_alone<N>(row, basis, rows, column);
}

void run_5(const std::int16_t* coefficients, std::uint32_t count, const float* quantiser,
           const float* basis, std::uint8_t* const* rows, std::uint32_t column) {
  run<5>(coefficients, count, quantiser, basis, rows, column);
}

void run_6(const std::int16_t* coefficients, std::uint32_t count, const float* quantiser,
           const float* basis, std::uint8_t* const* rows, std::uint32_t column) {
  run<6>(coefficients, count, quantiser, basis, rows, column);
}

void cut_5(const std::int16_t* coefficients, const float* quantiser, const float* repad,
           const float* basis, std::uint8_t* const* rows, std::uint32_t column) {
  cut<5>(coefficients, quantiser, repad, basis, rows, column);
}

void cut_6(const std::int16_t* coefficients, const float* quantiser, const float* repad,
           const float* basis, std::uint8_t* const* rows, std::uint32_t column) {
  cut<6>(coefficients, quantiser, repad, basis, rows, column);
}

}  // namespace HWY_NAMESPACE
}  // namespace framewire::codec::turbo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace framewire::codec::turbo {
namespace {

HWY_EXPORT(run_5);
HWY_EXPORT(run_6);
HWY_EXPORT(cut_5);
HWY_EXPORT(cut_6);

/// The samples of each of N frequencies, with the corner's scale; zeros behind the N-th.
template <int N>
struct alignas(32) WideBasis {
  float at[N][8] = {};
  WideBasis() {
    for (int u = 0; u < N; ++u) {
      for (int x = 0; x < N; ++x) {
        at[u][x] = static_cast<float>(transform::dct_cosine(N, x, u) * std::sqrt(N / 8.0));
      }
    }
  }
};

template <int N>
const float* wide_basis() {
  static const WideBasis<N> basis;
  return basis.at[0];
}

}  // namespace

void wide_corner_run(int n, const std::int16_t* coefficients, std::uint32_t count,
                     const float* quantiser, std::uint8_t* const* rows, std::uint32_t column) {
  if (n == 5) {
    HWY_DYNAMIC_DISPATCH(run_5)(coefficients, count, quantiser, wide_basis<5>(), rows, column);
  } else {
    HWY_DYNAMIC_DISPATCH(run_6)(coefficients, count, quantiser, wide_basis<6>(), rows, column);
  }
}

void wide_corner_cut(int n, const std::int16_t* coefficients, const float* quantiser,
                     const float* repad, std::uint8_t* const* rows, std::uint32_t column) {
  if (n == 5) {
    HWY_DYNAMIC_DISPATCH(cut_5)(coefficients, quantiser, repad, wide_basis<5>(), rows, column);
  } else {
    HWY_DYNAMIC_DISPATCH(cut_6)(coefficients, quantiser, repad, wide_basis<6>(), rows, column);
  }
}

}  // namespace framewire::codec::turbo
#endif  // HWY_ONCE
