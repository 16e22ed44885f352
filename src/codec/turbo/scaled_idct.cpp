#include <algorithm>
#include <cmath>
#include <codec/turbo/scaled_idct.hpp>
#include <codec/turbo/wide_corner_idct.hpp>
#include <cstring>
#include <transform/dct.hpp>

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/turbo/scaled_idct.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace framewire::codec::turbo {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR  // no vectors of a fixed size there

/// The four-point inverse DCT of idct_columns() below, in place, over samples `step` apart.
void idct_line(float* x, int step) {
  const float even0 = x[0] + x[2 * step];
  const float even1 = x[0] - x[2 * step];
  const float odd0 = 1.30656296f * x[step] + 0.54119610f * x[3 * step];
  const float odd1 = 0.54119610f * x[step] - 1.30656296f * x[3 * step];
  x[0] = even0 + odd0;
  x[step] = even1 + odd1;
  x[2 * step] = even1 - odd1;
  x[3 * step] = even0 - odd0;
}

void idct_4x4(const std::int16_t* coefficients, const float* corner, std::uint8_t* const* rows,
              std::uint32_t column) {
  float x[16];
  for (int i = 0; i < 16; ++i) {
    x[i] = static_cast<float>(coefficients[8 * (i / 4) + i % 4]) * corner[i];
  }
  for (int i = 0; i < 4; ++i) idct_line(x + i, 4);
  for (int i = 0; i < 4; ++i) idct_line(x + 4 * i, 1);
  for (int i = 0; i < 16; ++i) {
    rows[i / 4][column + static_cast<std::uint32_t>(i % 4)] =
        static_cast<std::uint8_t>(std::nearbyint(std::clamp(x[i] + 128.0f, 0.0f, 255.0f)));
  }
}

void idct_4x4_cut(const std::int16_t* coefficients, const float* quantiser, const float* repad,
                  std::uint8_t* const* rows, std::uint32_t column) {
  // Re-padded coefficients are no integers: they go in as scales, and the coefficients are ones.
  std::int16_t ones[32] = {};
  float scale[16] = {};
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 4; ++c) {
      float sum = 0;
      for (int k = 0; k < 8; ++k) {
        sum +=
            repad[8 * r + k] * static_cast<float>(coefficients[8 * k + c]) * quantiser[8 * k + c];
      }
      ones[8 * r + c] = 1;
      scale[4 * r + c] = sum / 8.0f;
    }
  }
  idct_4x4(ones, scale, rows, column);
}

void idct_4x4_run(const std::int16_t* coefficients, std::uint32_t count, const float* corner,
                  std::uint8_t* const* rows, std::uint32_t column) {
  for (std::uint32_t i = 0; i < count; ++i) {
    idct_4x4(coefficients + 64 * i, corner, rows, column + 4 * i);
  }
}

#else

// Each vector holds a row of four coefficients of one block, or of two blocks side by side. Nothing
// below crosses from one block's lanes to the other's.

template <class D>
using V = hn::Vec<D>;
using OneBlock = hn::FixedTag<float, 4>;
using TwoBlocks = hn::CappedTag<float, 8>;

/// Four (or eight) 1-D four-point inverse DCTs, one a lane. The caller applies the common factor ½
/// of the even part; the odd part's constants are therefore doubled: √2 cos(π/8) and √2 cos(3π/8).
template <class D>
HWY_INLINE void idct_columns(D d, V<D>& x0, V<D>& x1, V<D>& x2, V<D>& x3) {
  const V<D> c1 = hn::Set(d, 1.30656296f);
  const V<D> c3 = hn::Set(d, 0.54119610f);
  const V<D> even0 = hn::Add(x0, x2);
  const V<D> even1 = hn::Sub(x0, x2);
  const V<D> odd0 = hn::MulAdd(c1, x1, hn::Mul(c3, x3));
  const V<D> odd1 = hn::Sub(hn::Mul(c3, x1), hn::Mul(c1, x3));
  x0 = hn::Add(even0, odd0);
  x1 = hn::Add(even1, odd1);
  x2 = hn::Sub(even1, odd1);
  x3 = hn::Sub(even0, odd0);
}

template <class D>
HWY_INLINE void transpose(D d, V<D>& x0, V<D>& x1, V<D>& x2, V<D>& x3) {
  const hn::RepartitionToWide<decltype(hn::RebindToUnsigned<D>())> pairs;
  const auto a = hn::BitCast(pairs, hn::InterleaveLower(d, x0, x1));
  const auto b = hn::BitCast(pairs, hn::InterleaveLower(d, x2, x3));
  const auto e = hn::BitCast(pairs, hn::InterleaveUpper(d, x0, x1));
  const auto f = hn::BitCast(pairs, hn::InterleaveUpper(d, x2, x3));
  x0 = hn::BitCast(d, hn::InterleaveLower(pairs, a, b));
  x1 = hn::BitCast(d, hn::InterleaveUpper(pairs, a, b));
  x2 = hn::BitCast(d, hn::InterleaveLower(pairs, e, f));
  x3 = hn::BitCast(d, hn::InterleaveUpper(pairs, e, f));
}

HWY_INLINE V<OneBlock> load_row(OneBlock d, const std::int16_t* coefficients, const float* scale) {
  const hn::Rebind<std::int16_t, OneBlock> d16;
  const hn::Rebind<std::int32_t, OneBlock> d32;
  return hn::Mul(hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d16, coefficients))),
                 hn::Load(d, scale));
}

template <class D>
HWY_INLINE void store_row(D d, V<D> samples, std::uint8_t* out) {
  const hn::Rebind<std::uint8_t, D> d8;
  const V<D> shifted = hn::Add(samples, hn::Set(d, 128.0f));
  // Clamped as floats, because converting what exceeds int32 differs between targets.
  const V<D> clamped = hn::Min(hn::Max(shifted, hn::Zero(d)), hn::Set(d, 255.0f));
  hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(clamped)), d8, out);
}

template <class D>
HWY_INLINE void transform(D d, V<D> x0, V<D> x1, V<D> x2, V<D> x3, std::uint8_t* const* rows,
                          std::uint32_t column) {
  idct_columns(d, x0, x1, x2, x3);
  transpose(d, x0, x1, x2, x3);
  idct_columns(d, x0, x1, x2, x3);
  transpose(d, x0, x1, x2, x3);
  store_row(d, x0, rows[0] + column);
  store_row(d, x1, rows[1] + column);
  store_row(d, x2, rows[2] + column);
  store_row(d, x3, rows[3] + column);
}

void idct_4x4(const std::int16_t* coefficients, const float* corner, std::uint8_t* const* rows,
              std::uint32_t column) {
  const OneBlock d;
  transform(d, load_row(d, coefficients, corner), load_row(d, coefficients + 8, corner + 4),
            load_row(d, coefficients + 16, corner + 8), load_row(d, coefficients + 24, corner + 12),
            rows, column);
}

void idct_4x4_cut(const std::int16_t* coefficients, const float* quantiser, const float* repad,
                  std::uint8_t* const* rows, std::uint32_t column) {
  const OneBlock d;
  V<OneBlock> sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (int k = 0; k < 8; ++k) {
    const V<OneBlock> row = load_row(d, coefficients + 8 * k, quantiser + 8 * k);
    for (int r = 0; r < 4; ++r) sums[r] = hn::MulAdd(hn::Set(d, repad[8 * r + k]), row, sums[r]);
  }
  const V<OneBlock> scale = hn::Set(d, 0.125f);
  transform(d, hn::Mul(sums[0], scale), hn::Mul(sums[1], scale), hn::Mul(sums[2], scale),
            hn::Mul(sums[3], scale), rows, column);
}

/// Whether the corner holds nothing but DC.
HWY_INLINE bool is_flat(const std::int16_t* coefficients) {
  std::uint64_t first, row, rest = 0;
  std::memcpy(&first, coefficients, sizeof(first));
  for (int r = 1; r < 4; ++r) {
    std::memcpy(&row, coefficients + 8 * r, sizeof(row));
    rest |= row;
  }
  std::int16_t dc = coefficients[0];
  std::uint64_t only_dc = 0;
  std::memcpy(&only_dc, &dc, sizeof(dc));
  return (rest | (first ^ only_dc)) == 0;
}

/// The transform of a block that holds nothing but DC would add and subtract zeros only.
HWY_INLINE void fill_4x4(const std::int16_t* coefficients, const float* corner,
                         std::uint8_t* const* rows, std::uint32_t column) {
  const OneBlock d;
  const V<OneBlock> samples = hn::Set(d, coefficients[0] * corner[0]);
  for (int r = 0; r < 4; ++r) store_row(d, samples, rows[r] + column);
}

#if HWY_MAX_BYTES >= 32 && HWY_HAVE_SCALABLE == 0
/// The same row of two blocks, one behind the other.
HWY_INLINE V<TwoBlocks> load_row(TwoBlocks d, const std::int16_t* coefficients,
                                 const float* scale) {
  const hn::Rebind<std::int16_t, TwoBlocks> d16;
  const hn::Half<decltype(d16)> half;
  const hn::Rebind<std::int32_t, TwoBlocks> d32;
  const auto both =
      hn::Combine(d16, hn::LoadU(half, coefficients + 64), hn::LoadU(half, coefficients));
  return hn::Mul(hn::ConvertTo(d, hn::PromoteTo(d32, both)), hn::LoadDup128(d, scale));
}

HWY_INLINE void idct_4x4_twice(const std::int16_t* coefficients, const float* corner,
                               std::uint8_t* const* rows, std::uint32_t column) {
  const TwoBlocks d;
  transform(d, load_row(d, coefficients, corner), load_row(d, coefficients + 8, corner + 4),
            load_row(d, coefficients + 16, corner + 8), load_row(d, coefficients + 24, corner + 12),
            rows, column);
}
#else
HWY_INLINE void idct_4x4_twice(const std::int16_t* coefficients, const float* corner,
                               std::uint8_t* const* rows, std::uint32_t column) {
  idct_4x4(coefficients, corner, rows, column);
  idct_4x4(coefficients + 64, corner, rows, column + 4);
}
#endif

void idct_4x4_run(const std::int16_t* coefficients, std::uint32_t count, const float* corner,
                  std::uint8_t* const* rows, std::uint32_t column) {
  for (; count > 1; count -= 2, coefficients += 128, column += 8) {
    if (is_flat(coefficients) && is_flat(coefficients + 64)) {
      fill_4x4(coefficients, corner, rows, column);
      fill_4x4(coefficients + 64, corner, rows, column + 4);
    } else {
      idct_4x4_twice(coefficients, corner, rows, column);
    }
  }
  if (count == 0) return;
  if (is_flat(coefficients)) {
    fill_4x4(coefficients, corner, rows, column);
  } else {
    idct_4x4(coefficients, corner, rows, column);
  }
}

#endif  // HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace framewire::codec::turbo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace framewire::codec::turbo {
namespace {

HWY_EXPORT(idct_4x4_run);
HWY_EXPORT(idct_4x4_cut);

constexpr int kSide = 8;
constexpr int kMaxCorner = 6;

using RepadMatrix = std::array<std::array<float, kSide>, kMaxCorner>;

/// First rows of DCT · P · DCTᵀ, where P repeats sample valid − 1 over those behind it. They map
/// the eight coefficients of a column to the low ones of the re-padded column.
RepadMatrix make_repad_matrix(int valid) {
  RepadMatrix matrix{};
  for (int out = 0; out < kMaxCorner; ++out) {
    for (int in = 0; in < kSide; ++in) {
      double sum = 0;
      for (int i = 0; i < kSide; ++i) {
        sum += transform::dct_cosine(kSide, i, out) *
               transform::dct_cosine(kSide, std::min(i, valid - 1), in);
      }
      matrix[static_cast<std::size_t>(out)][static_cast<std::size_t>(in)] = static_cast<float>(sum);
    }
  }
  return matrix;
}

const RepadMatrix& repad_matrix(int valid) {
  static const auto matrices = [] {
    std::array<RepadMatrix, kSide + 1> all{};
    for (int v = 1; v <= kSide; ++v) all[static_cast<std::size_t>(v)] = make_repad_matrix(v);
    return all;
  }();
  return matrices[static_cast<std::size_t>(valid)];
}

std::uint8_t to_sample(float value) {
  return static_cast<std::uint8_t>(std::clamp(std::nearbyint(value + 128.0f), 0.0f, 255.0f));
}

/// N-point inverse DCT basis, orthonormal, of each frequency and position.
using SmallBasis = std::array<std::array<float, kMaxCorner>, kMaxCorner>;

const SmallBasis& small_basis(int n) {
  static const auto bases = [] {
    std::array<SmallBasis, kMaxCorner + 1> all{};
    for (int size = 1; size <= kMaxCorner; ++size) {
      for (int u = 0; u < size; ++u) {
        for (int x = 0; x < size; ++x) {
          all[static_cast<std::size_t>(size)][static_cast<std::size_t>(u)]
             [static_cast<std::size_t>(x)] = static_cast<float>(transform::dct_cosine(size, x, u));
        }
      }
    }
    return all;
  }();
  return bases[static_cast<std::size_t>(n)];
}

void idct_2x2(const std::int16_t* coefficients, const ScaledDequantiser& dequantiser,
              std::uint8_t* const* rows, std::uint32_t column) {
  const float a = coefficients[0] * dequantiser.corner2[0];
  const float b = coefficients[1] * dequantiser.corner2[1];
  const float c = coefficients[8] * dequantiser.corner2[2];
  const float d = coefficients[9] * dequantiser.corner2[3];
  rows[0][column] = to_sample(a + b + c + d);
  rows[0][column + 1] = to_sample(a - b + c - d);
  rows[1][column] = to_sample(a + b - c - d);
  rows[1][column + 1] = to_sample(a - b - c + d);
}

/// Blocks of which only some rows of samples belong to the picture: a whole row of them is worth
/// vectors. @return false where there are none for this scale
bool invert_cut_rows(const std::int16_t* coefficients, const float* quantiser, int scale,
                     const float* repad, std::uint8_t* const* rows, std::uint32_t column) {
  if (scale > 4) {
    wide_corner_cut(scale, coefficients, quantiser, repad, rows, column);
  } else if (scale == 4) {
    HWY_DYNAMIC_DISPATCH(idct_4x4_cut)(coefficients, quantiser, repad, rows, column);
  } else {
    return false;
  }
  return true;
}

}  // namespace

ScaledDequantiser make_scaled_dequantiser(const std::uint16_t* quantiser) {
  ScaledDequantiser d;
  for (std::size_t i = 0; i < 64; ++i) d.full[i] = quantiser[i];
  // Scale of 4 points: ½ (N/8) times ½ for the even part of each axis.
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 4; ++c) d.corner4[4 * r + c] = d.full[8 * r + c] / 8.0f;
  }
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t c = 0; c < 2; ++c) d.corner2[2 * r + c] = d.full[8 * r + c] / 8.0f;
  }
  d.dc = d.full[0] / 8.0f;
  return d;
}

void idct_run(const std::int16_t* coefficients, std::uint32_t count,
              const ScaledDequantiser& dequantiser, int scale, std::uint8_t* const* rows,
              std::uint32_t column) {
  switch (scale) {
    case 6:
    case 5:
      return wide_corner_run(scale, coefficients, count, dequantiser.full.data(), rows, column);
    case 4:
      return HWY_DYNAMIC_DISPATCH(idct_4x4_run)(coefficients, count, dequantiser.corner4.data(),
                                                rows, column);
    case 2:
      for (std::uint32_t i = 0; i < count; ++i) {
        idct_2x2(coefficients + 64 * i, dequantiser, rows, column + 2 * i);
      }
      return;
    default:
      for (std::uint32_t i = 0; i < count; ++i) {
        rows[0][column + i] = to_sample(coefficients[64 * i] * dequantiser.dc);
      }
  }
}

void idct_partial(const std::int16_t* coefficients, const ScaledDequantiser& dequantiser, int scale,
                  int valid_columns, int valid_rows, std::uint8_t* const* rows,
                  std::uint32_t column) {
  const RepadMatrix& down = repad_matrix(valid_rows);
  if (valid_columns == kSide &&
      invert_cut_rows(coefficients, dequantiser.full.data(), scale, down[0].data(), rows, column)) {
    return;
  }
  const RepadMatrix& across = repad_matrix(valid_columns);
  float lines[kMaxCorner][kSide];
  for (int r = 0; r < scale; ++r) {
    for (int c = 0; c < kSide; ++c) {
      float sum = 0;
      for (int k = 0; k < kSide; ++k) {
        sum += down[r][k] * coefficients[8 * k + c] * dequantiser.full[8 * k + c];
      }
      lines[r][c] = sum;
    }
  }
  float corner[kMaxCorner][kMaxCorner];
  for (int r = 0; r < scale; ++r) {
    for (int c = 0; c < scale; ++c) {
      float sum = 0;
      for (int k = 0; k < kSide; ++k) sum += across[c][k] * lines[r][k];
      corner[r][c] = sum * static_cast<float>(scale) / 8.0f;
    }
  }
  const SmallBasis& basis = small_basis(scale);
  for (int y = 0; y < scale; ++y) {
    for (int x = 0; x < scale; ++x) {
      float sum = 0;
      for (int r = 0; r < scale; ++r) {
        for (int c = 0; c < scale; ++c) {
          sum += corner[r][c] * basis[r][y] * basis[c][x];
        }
      }
      rows[y][column + static_cast<std::uint32_t>(x)] = to_sample(sum);
    }
  }
}

}  // namespace framewire::codec::turbo
#endif  // HWY_ONCE
