#include <tensor/upsample.hpp>

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/upsample.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace framewire::tensor {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most 32 lanes, so that kUpsamplePadding covers a vector of two interleaved ones.
using Int16Tag = hn::CappedTag<std::int16_t, 32>;
using Uint8Tag = hn::Rebind<std::uint8_t, Int16Tag>;

HWY_INLINE hn::Vec<Int16Tag> load(const std::uint8_t* at) {
  return hn::PromoteTo(Int16Tag(), hn::LoadU(Uint8Tag(), at));
}
HWY_INLINE hn::Vec<Int16Tag> thrice(hn::Vec<Int16Tag> value) {
  return hn::Add(value, hn::Add(value, value));
}
HWY_INLINE void store_pairs(hn::Vec<Int16Tag> even, hn::Vec<Int16Tag> odd, std::uint8_t* out) {
  const Uint8Tag d;
  hn::StoreInterleaved2(hn::DemoteTo(d, even), hn::DemoteTo(d, odd), d, out);
}

void upsample_2x1(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  const Int16Tag d;
  for (std::size_t x = 0; x < count; x += hn::Lanes(d)) {
    const auto here = thrice(load(in + x));
    const auto even = hn::Add(hn::Add(here, load(in + x - 1)), hn::Set(d, 1));
    const auto odd = hn::Add(hn::Add(here, load(in + x + 1)), hn::Set(d, 2));
    store_pairs(hn::ShiftRight<2>(even), hn::ShiftRight<2>(odd), out + 2 * x);
  }
}

void upsample_2x2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count,
                  std::uint8_t* out) {
  const Int16Tag d;
  const auto column = [&](std::ptrdiff_t x) {
    return hn::Add(thrice(load(near + x)), load(far + x));
  };
  const auto end = static_cast<std::ptrdiff_t>(count);
  for (std::ptrdiff_t x = 0; x < end; x += static_cast<std::ptrdiff_t>(hn::Lanes(d))) {
    const auto here = thrice(column(x));
    const auto even = hn::Add(hn::Add(here, column(x - 1)), hn::Set(d, 8));
    const auto odd = hn::Add(hn::Add(here, column(x + 1)), hn::Set(d, 7));
    store_pairs(hn::ShiftRight<4>(even), hn::ShiftRight<4>(odd), out + 2 * x);
  }
}

void upsample_1x2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, int bias,
                  std::uint8_t* out) {
  const Int16Tag d;
  const auto added = hn::Set(d, static_cast<std::int16_t>(bias));
  for (std::size_t x = 0; x < count; x += hn::Lanes(d)) {
    const auto sum = hn::Add(hn::Add(thrice(load(near + x)), load(far + x)), added);
    hn::StoreU(hn::DemoteTo(Uint8Tag(), hn::ShiftRight<2>(sum)), Uint8Tag(), out + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace framewire::tensor
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace framewire::tensor {
namespace {

HWY_EXPORT(upsample_2x1);
HWY_EXPORT(upsample_2x2);
HWY_EXPORT(upsample_1x2);

}  // namespace

void upsample_2x1(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(upsample_2x1)(in, count, out);
}

void upsample_2x2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count,
                  std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(upsample_2x2)(near, far, count, out);
}

void upsample_1x2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, int bias,
                  std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(upsample_1x2)(near, far, count, bias, out);
}

}  // namespace framewire::tensor
#endif  // HWY_ONCE
