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
    for (std::int32_t k = 0; k < filter.stride; ++k)
      sum += weights[k] * in[filter.first[static_cast<std::size_t>(j)] + k];
    out[j] = static_cast<std::uint8_t>(std::clamp(sum >> kColumnShift, 0, 255));
  }
}

#else

/// Two taps side by side in each 32-bit lane, as the pairwise multiply-add wants them.
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
    auto low = rounding, high = rounding;
    auto low_rest = hn::Zero(d32), high_rest = hn::Zero(d32);
    const auto add_pair = [&](auto a, auto b, auto w) {
      low = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveLower(d16, a, b), w, low, low_rest);
      high = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveUpper(d16, a, b), w, high, high_rest);
    };
    std::int32_t k = 0;
    for (; k + 1 < count; k += 2)
      add_pair(load(rows[k] + x), load(rows[k + 1] + x),
               weight_pair(d16, weights[k], weights[k + 1]));
    if (k < count) add_pair(load(rows[k] + x), hn::Zero(d16), weight_pair(d16, weights[k], 0));
    low = hn::ShiftRight<kRowShift>(hn::RearrangeToOddPlusEven(low, low_rest));
    high = hn::ShiftRight<kRowShift>(hn::RearrangeToOddPlusEven(high, high_rest));
    // Interleave and ReorderDemote2To both work within 128-bit blocks: the order is restored.
    hn::StoreU(hn::ReorderDemote2To(d16, low, high), d16, out + x);
  }
}

void filter_row(const std::int16_t* in, const FixedFilter& filter, std::uint8_t* out) {
  const hn::FixedTag<std::int16_t, kTapGroup> d16;
  const hn::RepartitionToWide<decltype(d16)> d32;
  const std::int16_t* weights = filter.weights.data();
  for (std::int32_t j = 0; j < filter.out_size; ++j, weights += filter.stride) {
    const std::int16_t* taps = in + filter.first[static_cast<std::size_t>(j)];
    auto sum0 = hn::Zero(d32);
    auto sum1 = hn::Zero(d32);
    for (std::int32_t k = 0; k < filter.stride; k += kTapGroup)
      sum0 = hn::ReorderWidenMulAccumulate(d32, hn::LoadU(d16, taps + k),
                                           hn::LoadU(d16, weights + k), sum0, sum1);
    const std::int32_t sum = hn::GetLane(hn::SumOfLanes(d32, hn::Add(sum0, sum1)));
    const std::int32_t value = (sum + (1 << (kColumnShift - 1))) >> kColumnShift;
    out[j] = static_cast<std::uint8_t>(std::clamp(value, 0, 255));
  }
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
