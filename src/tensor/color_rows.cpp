#include <algorithm>
#include <tensor/color_rows.hpp>

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/color_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace framewire::tensor {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes: kColorPadding covers a vector.
using Floats = hn::CappedTag<float, 16>;
using Ints = hn::Rebind<std::int32_t, Floats>;
using ByteTag = hn::Rebind<std::uint8_t, Floats>;

HWY_INLINE hn::Vec<Ints> load(const std::uint8_t* at) {
  return hn::PromoteTo(Ints(), hn::LoadU(ByteTag(), at));
}
HWY_INLINE void store(hn::Vec<Ints> value, std::uint8_t* at) {  // clamps
  hn::StoreU(hn::DemoteTo(ByteTag(), value), ByteTag(), at);
}

void ycbcr_to_rgb(const std::uint8_t* y_row, const std::uint8_t* cb_row, const std::uint8_t* cr_row,
                  std::size_t count, std::uint8_t* r, std::uint8_t* g, std::uint8_t* b) {
  const Ints d;
  const auto half = hn::Set(d, 1 << 15);
  const auto middle = hn::Set(d, 128);
  const auto times = [&](hn::Vec<Ints> value, int factor) {
    return hn::Mul(value, hn::Set(d, factor));
  };
  for (std::size_t x = 0; x < count; x += hn::Lanes(d)) {
    const auto y = load(y_row + x);
    const auto cb = hn::Sub(load(cb_row + x), middle);
    const auto cr = hn::Sub(load(cr_row + x), middle);
    store(hn::Add(y, hn::ShiftRight<16>(hn::Add(times(cr, 91881), half))), r + x);
    const auto green = hn::Sub(hn::Sub(half, times(cb, 22554)), times(cr, 46802));
    store(hn::Add(y, hn::ShiftRight<16>(green)), g + x);
    store(hn::Add(y, hn::ShiftRight<16>(hn::Add(times(cb, 116130), half))), b + x);
  }
}

void ycbcr_to_rgb_once(const float* y_row, const float* cb_row, const float* cr_row,
                       std::size_t count, std::uint8_t* r, std::uint8_t* g, std::uint8_t* b) {
  const Floats d;
  const auto put = [&](hn::Vec<Floats> value, std::uint8_t* at) {
    // Clamped as floats, because converting what exceeds int32 differs between targets.
    const auto clamped = hn::Min(hn::Max(value, hn::Zero(d)), hn::Set(d, 255.0f));
    store(hn::NearestInt(clamped), at);
  };
  for (std::size_t x = 0; x < count; x += hn::Lanes(d)) {
    const auto y = hn::LoadU(d, y_row + x);
    const auto cb = hn::Sub(hn::LoadU(d, cb_row + x), hn::Set(d, 128.0f));
    const auto cr = hn::Sub(hn::LoadU(d, cr_row + x), hn::Set(d, 128.0f));
    put(hn::MulAdd(cr, hn::Set(d, 1.402f), y), r + x);
    put(hn::NegMulAdd(cb, hn::Set(d, 0.344136286f), hn::NegMulAdd(cr, hn::Set(d, 0.714136286f), y)),
        g + x);
    put(hn::MulAdd(cb, hn::Set(d, 1.772f), y), b + x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace framewire::tensor
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace framewire::tensor {
namespace {

HWY_EXPORT(ycbcr_to_rgb);
HWY_EXPORT(ycbcr_to_rgb_once);

/// ⌊a · b / 255⌉, as Pillow's MULDIV255.
int times_share(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

}  // namespace

void ycbcr_to_rgb(const InRows& in, std::size_t count, const OutRows& out) {
  HWY_DYNAMIC_DISPATCH(ycbcr_to_rgb)(in[0], in[1], in[2], count, out[0], out[1], out[2]);
}

void ycbcr_to_rgb_once(const std::array<const float*, 3>& in, std::size_t count,
                       const OutRows& out) {
  HWY_DYNAMIC_DISPATCH(ycbcr_to_rgb_once)(in[0], in[1], in[2], count, out[0], out[1], out[2]);
}

void rgb_to_gray(const InRows& in, std::size_t count, std::uint8_t* out) {
  for (std::size_t x = 0; x < count; ++x) {
    out[x] = static_cast<std::uint8_t>(
        (19595 * in[0][x] + 38470 * in[1][x] + 7471 * in[2][x] + (1 << 15)) >> 16);
  }
}

void rgb_to_ycbcr(const InRows& in, std::size_t count, const OutRows& out) {
  constexpr int kCentre = (128 << 16) + (1 << 15) - 1;  // libjpeg's rounding fudge
  for (std::size_t x = 0; x < count; ++x) {
    const int r = in[0][x];
    const int g = in[1][x];
    const int b = in[2][x];
    out[0][x] = static_cast<std::uint8_t>((19595 * r + 38470 * g + 7471 * b + (1 << 15)) >> 16);
    out[1][x] = static_cast<std::uint8_t>((-11059 * r - 21709 * g + 32768 * b + kCentre) >> 16);
    out[2][x] = static_cast<std::uint8_t>((32768 * r - 27439 * g - 5329 * b + kCentre) >> 16);
  }
}

void cmyk_to_rgb(const InRows& in, std::size_t count, const OutRows& out) {
  for (std::size_t x = 0; x < count; ++x) {
    const int white = in[3][x];
    for (std::size_t c = 0; c < 3; ++c) {
      const int left = white - times_share(255 - in[c][x], white);
      out[c][x] = static_cast<std::uint8_t>(std::clamp(left, 0, 255));
    }
  }
}

void ycck_to_rgb(const InRows& in, std::size_t count, const OutRows& out) {
  ycbcr_to_rgb(in, count, out);
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t x = 0; x < count; ++x) out[c][x] = static_cast<std::uint8_t>(255 - out[c][x]);
  }
  cmyk_to_rgb({out[0], out[1], out[2], in[3]}, count, out);
}

}  // namespace framewire::tensor
#endif  // HWY_ONCE
