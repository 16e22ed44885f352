#include <color/pixel_rows.hpp>
#include <cstring>

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "color/pixel_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace framewire::color {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most eight SIMD lanes: the end of a row goes through a buffer of that size.
using F32 = hn::CappedTag<float, 8>;
using I32 = hn::RebindToSigned<F32>;
using U8 = hn::Rebind<std::uint8_t, F32>;
using Float = hn::Vec<F32>;

HWY_INLINE Float to_float(hn::Vec<U8> samples) {
  return hn::ConvertTo(F32(), hn::PromoteTo(I32(), samples));
}

HWY_INLINE hn::Vec<U8> to_samples(Float values) {
  return hn::DemoteTo(U8(), hn::NearestInt(values));
}

HWY_INLINE void to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                       std::uint8_t* rgb) {
  const F32 d;
  const U8 d8;
  const Float centre = hn::Set(d, 128.0f);
  const Float luma = to_float(hn::LoadU(d8, y));
  const Float u = hn::Sub(to_float(hn::LoadU(d8, cb)), centre);
  const Float v = hn::Sub(to_float(hn::LoadU(d8, cr)), centre);
  const Float r = hn::MulAdd(hn::Set(d, 1.402f), v, luma);
  const Float g =
      hn::NegMulAdd(hn::Set(d, 0.344136286f), u, hn::NegMulAdd(hn::Set(d, 0.714136286f), v, luma));
  const Float b = hn::MulAdd(hn::Set(d, 1.772f), u, luma);
  hn::StoreInterleaved3(to_samples(r), to_samples(g), to_samples(b), d8, rgb);
}

HWY_INLINE void to_ycbcr(const std::uint8_t* rgb, std::uint8_t* y, std::uint8_t* cb,
                         std::uint8_t* cr) {
  const F32 d;
  const U8 d8;
  hn::Vec<U8> r8, g8, b8;
  hn::LoadInterleaved3(d8, rgb, r8, g8, b8);
  const Float r = to_float(r8), g = to_float(g8), b = to_float(b8);
  const Float luma = hn::MulAdd(hn::Set(d, 0.299f), r,
                                hn::MulAdd(hn::Set(d, 0.587f), g, hn::Mul(hn::Set(d, 0.114f), b)));
  const Float centre = hn::Set(d, 128.0f);
  hn::StoreU(to_samples(luma), d8, y);
  hn::StoreU(to_samples(hn::MulAdd(hn::Sub(b, luma), hn::Set(d, 1.0f / 1.772f), centre)), d8, cb);
  hn::StoreU(to_samples(hn::MulAdd(hn::Sub(r, luma), hn::Set(d, 1.0f / 1.402f), centre)), d8, cr);
}

void ycbcr_to_rgb_row(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                      std::uint8_t* rgb, std::int32_t count) {
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(F32()));
  std::int32_t i = 0;
  for (; i + lanes <= count; i += lanes) to_rgb(y + i, cb + i, cr + i, rgb + 3 * i);
  const std::size_t rest = static_cast<std::size_t>(count - i) & 7;
  if (rest == 0) return;
  std::uint8_t in[3][8] = {}, out[24];
  std::memcpy(in[0], y + i, rest);
  std::memcpy(in[1], cb + i, rest);
  std::memcpy(in[2], cr + i, rest);
  to_rgb(in[0], in[1], in[2], out);
  std::memcpy(rgb + 3 * i, out, 3 * rest);
}

void rgb_to_ycbcr_row(const std::uint8_t* rgb, std::uint8_t* y, std::uint8_t* cb, std::uint8_t* cr,
                      std::int32_t count) {
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(F32()));
  std::int32_t i = 0;
  for (; i + lanes <= count; i += lanes) to_ycbcr(rgb + 3 * i, y + i, cb + i, cr + i);
  const std::size_t rest = static_cast<std::size_t>(count - i) & 7;
  if (rest == 0) return;
  std::uint8_t in[24] = {}, out[3][8];
  std::memcpy(in, rgb + 3 * i, 3 * rest);
  to_ycbcr(in, out[0], out[1], out[2]);
  std::memcpy(y + i, out[0], rest);
  std::memcpy(cb + i, out[1], rest);
  std::memcpy(cr + i, out[2], rest);
}

}  // namespace HWY_NAMESPACE
}  // namespace framewire::color
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace framewire::color {
namespace {

HWY_EXPORT(ycbcr_to_rgb_row);
HWY_EXPORT(rgb_to_ycbcr_row);

}  // namespace

void ycbcr_to_rgb_row(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                      std::uint8_t* rgb, std::int32_t count) {
  HWY_DYNAMIC_DISPATCH(ycbcr_to_rgb_row)(y, cb, cr, rgb, count);
}

void rgb_to_ycbcr_row(const std::uint8_t* rgb, std::uint8_t* y, std::uint8_t* cb, std::uint8_t* cr,
                      std::int32_t count) {
  HWY_DYNAMIC_DISPATCH(rgb_to_ycbcr_row)(rgb, y, cb, cr, count);
}

}  // namespace framewire::color
#endif  // HWY_ONCE
