// Colour equations of JFIF and of Adobe's four-component files.
//
// Source: JFIF 1.02, page 3; Adobe TN 5116, section 18. Values run from 0 to 255, unclamped and
// unrounded; T is float or double.
#pragma once

#include <base/host_device.hpp>

namespace framewire::transform {

template <typename T>
struct Rgb {
  T r, g, b;
};

template <typename T>
struct Ycbcr {
  T y, cb, cr;
};

template <typename T>
struct Cmyk {
  T c, m, y, k;
};

template <typename T>
FW_HD constexpr Rgb<T> ycbcr_to_rgb(const Ycbcr<T>& in) {
  const T cb = in.cb - T(128);
  const T cr = in.cr - T(128);
  return {in.y + T(1.402) * cr,
          in.y - T(0.114 * 1.772 / 0.587) * cb - T(0.299 * 1.402 / 0.587) * cr,
          in.y + T(1.772) * cb};
}

template <typename T>
FW_HD constexpr Ycbcr<T> rgb_to_ycbcr(const Rgb<T>& in) {
  const T y = T(0.299) * in.r + T(0.587) * in.g + T(0.114) * in.b;
  return {y, (in.b - y) / T(1.772) + T(128), (in.r - y) / T(1.402) + T(128)};
}

/// Full ink is 255 in one convention and 0 in the other (Adobe's); each is its own inverse.
template <typename T>
FW_HD constexpr Cmyk<T> invert(const Cmyk<T>& in) {
  return {T(255) - in.c, T(255) - in.m, T(255) - in.y, T(255) - in.k};
}

/// YCCK holds the YCbCr of (255 − C, 255 − M, 255 − Y), and K as it is. What comes out follows the
/// file's convention: from an Adobe file, C, M, Y and K with 0 for full ink.
template <typename T>
FW_HD constexpr Cmyk<T> ycck_to_cmyk(const Ycbcr<T>& ycc, T k) {
  const Rgb<T> rgb = ycbcr_to_rgb(ycc);
  return {T(255) - rgb.r, T(255) - rgb.g, T(255) - rgb.b, k};
}

}  // namespace framewire::transform
