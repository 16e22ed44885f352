#include <algorithm>
#include <cmath>
#include <tensor/resample_passes.hpp>

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/resample_passes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace framewire::tensor {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes: kRowPadding covers two vectors.
using Floats = hn::CappedTag<float, 16>;
using Ints = hn::Rebind<std::int32_t, Floats>;
using ByteTag = hn::Rebind<std::uint8_t, Floats>;

HWY_INLINE hn::Vec<Floats> load_samples(const std::uint8_t* at) {
  return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), hn::LoadU(ByteTag(), at)));
}

void blend_rows(const std::uint8_t* const* rows, const float* weights, std::size_t count,
                std::size_t width, float* out) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t x = 0; x < width; x += 2 * lanes) {
    auto low = hn::Zero(d);
    auto high = hn::Zero(d);
    for (std::size_t k = 0; k < count; ++k) {
      const auto weight = hn::Set(d, weights[k]);
      low = hn::MulAdd(weight, load_samples(rows[k] + x), low);
      high = hn::MulAdd(weight, load_samples(rows[k] + x + lanes), high);
    }
    hn::StoreU(low, d, out + x);
    hn::StoreU(high, d, out + x + lanes);
  }
}

#if HWY_TARGET == HWY_SCALAR  // no vectors of a fixed size there

void filter_row(const float* in, const std::int32_t* first, const float* weights,
                std::size_t stride, std::size_t out_count, float* out) {
  for (std::size_t j = 0; j < out_count; ++j) {
    float sum = 0;
    for (std::size_t k = 0; k < stride; ++k) sum += weights[j * stride + k] * in[first[j] + k];
    out[j] = sum;
  }
}

#else

using F4 = hn::FixedTag<float, 4>;

/// Four products a step, summed lane by lane.
HWY_INLINE hn::Vec<F4> products(const float* in, const float* weights, std::size_t stride) {
  const F4 d;
  auto sum = hn::Mul(hn::LoadU(d, in), hn::LoadU(d, weights));
  for (std::size_t k = 4; k < stride; k += 4) {
    sum = hn::MulAdd(hn::LoadU(d, in + k), hn::LoadU(d, weights + k), sum);
  }
  return sum;
}

void filter_row(const float* in, const std::int32_t* first, const float* weights,
                std::size_t stride, std::size_t out_count, float* out) {
  const F4 d;
  for (std::size_t j = 0; j < out_count; j += 4, weights += 4 * stride) {
    const auto x0 = products(in + first[j], weights, stride);
    const auto x1 = products(in + first[j + 1], weights + stride, stride);
    const auto x2 = products(in + first[j + 2], weights + 2 * stride, stride);
    const auto x3 = products(in + first[j + 3], weights + 3 * stride, stride);
    // The sum of each vector's lanes, by transposing.
    const auto low = hn::Add(hn::InterleaveLower(d, x0, x1), hn::InterleaveUpper(d, x0, x1));
    const auto high = hn::Add(hn::InterleaveLower(d, x2, x3), hn::InterleaveUpper(d, x2, x3));
    hn::StoreU(hn::Add(hn::ConcatLowerLower(d, high, low), hn::ConcatUpperUpper(d, high, low)), d,
               out + j);
  }
}

#endif  // HWY_SCALAR

void round_row(const float* in, std::size_t count, std::uint8_t* out) {
  const Floats d;
  for (std::size_t x = 0; x < count; x += hn::Lanes(d)) {
    // Clamped as floats, because converting what exceeds int32 differs between targets.
    const auto value = hn::Min(hn::Max(hn::LoadU(d, in + x), hn::Zero(d)), hn::Set(d, 255.0f));
    hn::StoreU(hn::DemoteTo(ByteTag(), hn::NearestInt(value)), ByteTag(), out + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace framewire::tensor
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace framewire::tensor {
namespace {

HWY_EXPORT(blend_rows);
HWY_EXPORT(filter_row);
HWY_EXPORT(round_row);

}  // namespace

void blend_rows(const std::uint8_t* const* rows, const float* weights, std::size_t count,
                std::size_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(blend_rows)(rows, weights, count, width, out);
}

void filter_row(const float* in, const std::int32_t* first, const float* weights,
                std::size_t stride, std::size_t out_count, float* out) {
  HWY_DYNAMIC_DISPATCH(filter_row)(in, first, weights, stride, out_count, out);
}

void round_row(const float* in, std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(round_row)(in, count, out);
}

}  // namespace framewire::tensor
#endif  // HWY_ONCE
