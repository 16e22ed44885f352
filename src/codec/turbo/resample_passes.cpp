#include <algorithm>
#include <codec/turbo/resample_passes.hpp>

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/turbo/resample_passes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace framewire::codec::turbo {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kRowShift = kTapBits - kMidBits;
constexpr int kColumnShift = kTapBits + kMidBits;

#if HWY_TARGET == HWY_SCALAR  // no vectors of a fixed size there

void combine_rows(const std::uint8_t* const* rows, const std::int16_t* weights, std::int32_t count,
                  std::int32_t width, std::int16_t* out) {
  for (std::int32_t x = 0; x < width; ++x) {
    std::int32_t sum = 1 << (kRowShift - 1);
    for (std::int32_t k = 0; k < count; ++k) sum += weights[k] * rows[k][x];
    out[x] = static_cast<std::int16_t>(sum >> kRowShift);
  }
}

void filter_row(const std::int16_t* in, const FixedFilter& filter, std::uint8_t* out) {
  const std::int16_t* weights = filter.weights.data();
  for (std::int32_t j = 0; j < filter.out_size; ++j, weights += filter.stride) {
    std::int32_t sum = 1 << (kColumnShift - 1);
    for (std::int32_t k = 0; k < filter.stride; ++k) {
      sum += weights[k] * in[filter.first[static_cast<std::size_t>(j)] + k];
    }
    out[j] = static_cast<std::uint8_t>(std::clamp(sum >> kColumnShift, 0, 255));
  }
}

#else

/// Two taps in each 32-bit lane, for the pairwise multiply-add.
template <class D16>
HWY_INLINE hn::Vec<D16> weight_pair(D16 d16, std::int16_t low, std::int16_t high) {
  const hn::RepartitionToWide<D16> d32;
  const auto bits = static_cast<std::uint32_t>(static_cast<std::uint16_t>(low)) |
                    (static_cast<std::uint32_t>(static_cast<std::uint16_t>(high)) << 16);
  return hn::BitCast(d16, hn::Set(d32, static_cast<std::int32_t>(bits)));
}

void combine_rows(const std::uint8_t* const* rows, const std::int16_t* weights, std::int32_t count,
                  std::int32_t width, std::int16_t* out) {
  const hn::ScalableTag<std::int16_t> d16;
  const hn::RepartitionToWide<decltype(d16)> d32;
  const hn::Rebind<std::uint8_t, decltype(d16)> d8;
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(d16));
  const auto rounding = hn::Set(d32, 1 << (kRowShift - 1));
  const auto load = [&](const std::uint8_t* p) { return hn::PromoteTo(d16, hn::LoadU(d8, p)); };
  for (std::int32_t x = 0; x < width; x += lanes) {
    auto low = hn::Zero(d32), high = low, low_rest = low, high_rest = low;
    const auto add_pair = [&](auto a, auto b, auto w) {
      low = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveLower(d16, a, b), w, low, low_rest);
      high = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveUpper(d16, a, b), w, high, high_rest);
    };
    std::int32_t k = 0;
    for (; k + 1 < count; k += 2) {
      add_pair(load(rows[k] + x), load(rows[k + 1] + x),
               weight_pair(d16, weights[k], weights[k + 1]));
    }
    if (k < count) add_pair(load(rows[k] + x), hn::Zero(d16), weight_pair(d16, weights[k], 0));
    // Which product is in which sum differs between processors, so rounding comes last.
    low = hn::Add(hn::RearrangeToOddPlusEven(low, low_rest), rounding);
    high = hn::Add(hn::RearrangeToOddPlusEven(high, high_rest), rounding);
    low = hn::ShiftRight<kRowShift>(low);
    high = hn::ShiftRight<kRowShift>(high);
    // Interleave and ReorderDemote2To both work within 128-bit blocks, so the second restores the
    // order.
    hn::StoreU(hn::ReorderDemote2To(d16, low, high), d16, out + x);
  }
}

using D16 = hn::FixedTag<std::int16_t, kTapGroup>;
using D32 = hn::FixedTag<std::int32_t, kTapGroup / 2>;

/// Four partial sums of one output sample.
HWY_INLINE hn::Vec<D32> partial_sums(const std::int16_t* taps, const std::int16_t* weights,
                                     std::int32_t count) {
  const D16 d16;
  const D32 d32;
  auto sum0 = hn::Zero(d32);
  auto sum1 = hn::Zero(d32);
  for (std::int32_t k = 0; k < count; k += kTapGroup) {
    sum0 = hn::ReorderWidenMulAccumulate(d32, hn::LoadU(d16, taps + k), hn::LoadU(d16, weights + k),
                                         sum0, sum1);
  }
  return hn::Add(sum0, sum1);
}

/// Adds neighbouring lanes of a and b: a0+a1, a2+a3, b0+b1, b2+b3.
HWY_INLINE hn::Vec<D32> add_pairs(hn::Vec<D32> a, hn::Vec<D32> b) {
  const D32 d32;
  return hn::Add(hn::ConcatEven(d32, b, a), hn::ConcatOdd(d32, b, a));
}

void filter_row(const std::int16_t* in, const FixedFilter& filter, std::uint8_t* out) {
  const D32 d32;
  const hn::FixedTag<std::uint8_t, kTapGroup / 2> d8;
  const auto rounding = hn::Set(d32, 1 << (kColumnShift - 1));
  const std::int32_t stride = filter.stride;
  const std::int16_t* weights = filter.weights.data();
  const std::int32_t* first = filter.first.data();
  const auto sums = [&](std::int32_t j) {
    return partial_sums(in + first[j], weights + static_cast<std::ptrdiff_t>(j) * stride, stride);
  };
  const auto to_samples = [&](auto sum) {
    return hn::DemoteTo(d8, hn::ShiftRight<kColumnShift>(hn::Add(sum, rounding)));
  };
  std::int32_t j = 0;
  for (; j + 4 <= filter.out_size; j += 4) {
    const auto low = add_pairs(sums(j), sums(j + 1));
    const auto high = add_pairs(sums(j + 2), sums(j + 3));
    hn::StoreU(to_samples(add_pairs(low, high)), d8, out + j);
  }
  for (; j < filter.out_size; ++j) out[j] = hn::GetLane(to_samples(hn::SumOfLanes(d32, sums(j))));
}

#endif  // HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace framewire::codec::turbo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace framewire::codec::turbo {
namespace {

HWY_EXPORT(combine_rows);
HWY_EXPORT(filter_row);

}  // namespace

void combine_rows(const std::uint8_t* const* rows, const std::int16_t* weights, std::int32_t count,
                  std::int32_t width, std::int16_t* out) {
  HWY_DYNAMIC_DISPATCH(combine_rows)(rows, weights, count, width, out);
}

void filter_row(const std::int16_t* in, const FixedFilter& filter, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(filter_row)(in, filter, out);
}

}  // namespace framewire::codec::turbo
#endif  // HWY_ONCE
