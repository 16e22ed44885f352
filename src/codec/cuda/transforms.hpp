// Single-precision 1-D transforms in registers: the fast twins of transform/dct.hpp.
//
// Source: even and odd halves of the orthonormal DCT (T.81 A.3.3). Bounds: tests/unit/codec/cuda.
#pragma once

#include <base/host_device.hpp>

namespace framewire::codec::cuda {

/// √(1/8)·…: cos(kπ/16) / 2, k = 1 to 7.
struct Cosines {
  static constexpr float c1 = 0.49039264020161522f;
  static constexpr float c2 = 0.46193976625564337f;
  static constexpr float c3 = 0.41573480615127262f;
  static constexpr float c4 = 0.35355339059327376f;
  static constexpr float c5 = 0.27778511650980111f;
  static constexpr float c6 = 0.19134171618254489f;
  static constexpr float c7 = 0.09754516100806413f;
};

/// 8-point inverse, orthonormal.
FW_HD inline void inverse_8(float& a0, float& a1, float& a2, float& a3, float& a4, float& a5,
                            float& a6, float& a7) {
  using C = Cosines;
  const float s = (a0 + a4) * C::c4;
  const float d = (a0 - a4) * C::c4;
  const float p = a2 * C::c2 + a6 * C::c6;
  const float q = a2 * C::c6 - a6 * C::c2;
  const float e0 = s + p, e3 = s - p, e1 = d + q, e2 = d - q;
  const float o0 = a1 * C::c1 + a3 * C::c3 + a5 * C::c5 + a7 * C::c7;
  const float o1 = a1 * C::c3 - a3 * C::c7 - a5 * C::c1 - a7 * C::c5;
  const float o2 = a1 * C::c5 - a3 * C::c1 + a5 * C::c7 + a7 * C::c3;
  const float o3 = a1 * C::c7 - a3 * C::c5 + a5 * C::c3 - a7 * C::c1;
  a0 = e0 + o0, a7 = e0 - o0;
  a1 = e1 + o1, a6 = e1 - o1;
  a2 = e2 + o2, a5 = e2 - o2;
  a3 = e3 + o3, a4 = e3 - o3;
}

/// 8-point forward, orthonormal.
FW_HD inline void forward_8(float& a0, float& a1, float& a2, float& a3, float& a4, float& a5,
                            float& a6, float& a7) {
  using C = Cosines;
  const float s0 = a0 + a7, s1 = a1 + a6, s2 = a2 + a5, s3 = a3 + a4;
  const float d0 = a0 - a7, d1 = a1 - a6, d2 = a2 - a5, d3 = a3 - a4;
  a0 = (s0 + s3 + s1 + s2) * C::c4;
  a4 = (s0 + s3 - s1 - s2) * C::c4;
  a2 = (s0 - s3) * C::c2 + (s1 - s2) * C::c6;
  a6 = (s0 - s3) * C::c6 - (s1 - s2) * C::c2;
  a1 = d0 * C::c1 + d1 * C::c3 + d2 * C::c5 + d3 * C::c7;
  a3 = d0 * C::c3 - d1 * C::c7 - d2 * C::c1 - d3 * C::c5;
  a5 = d0 * C::c5 - d1 * C::c1 + d2 * C::c7 + d3 * C::c3;
  a7 = d0 * C::c7 - d1 * C::c5 + d2 * C::c3 - d3 * C::c1;
}

/// 6-point inverse of the corner, scaled by √(6/8): ½·cos… after both factors.
FW_HD inline void inverse_6(float& a0, float& a1, float& a2, float& a3, float& a4, float& a5) {
  constexpr float kFlat = 0.35355339059327376f;  // √(1/6)·√(6/8), and cos(3π/12) / 2
  constexpr float kC1 = 0.48296291314453416f;    // cos(π/12) / 2
  constexpr float kC2 = 0.43301270189221933f;
  constexpr float kC5 = 0.12940952255126037f;
  const float s = a0 * kFlat;
  const float p = a2 * kC2;
  const float e0 = s + p + a4 * 0.25f, e1 = s - a4 * 0.5f, e2 = s - p + a4 * 0.25f;
  const float m = a3 * kFlat;
  const float o0 = a1 * kC1 + m + a5 * kC5;
  const float o1 = (a1 - a5) * kFlat - m;
  const float o2 = a1 * kC5 - m + a5 * kC1;
  a0 = e0 + o0, a5 = e0 - o0;
  a1 = e1 + o1, a4 = e1 - o1;
  a2 = e2 + o2, a3 = e2 - o2;
}

/// 5-point inverse of the corner, scaled by √(5/8): ½·cos… after both factors.
FW_HD inline void inverse_5(float& a0, float& a1, float& a2, float& a3, float& a4) {
  constexpr float kFlat = 0.35355339059327376f;  // √(1/5)·√(5/8)
  constexpr float kC1 = 0.47552825814757677f;    // cos(π/10) / 2
  constexpr float kC2 = 0.40450849718747371f;
  constexpr float kC3 = 0.29389262614623657f;
  constexpr float kC4 = 0.15450849718747371f;
  const float s = a0 * kFlat;
  const float e0 = s + a2 * kC2 + a4 * kC4;
  const float e1 = s - a2 * kC4 - a4 * kC2;
  const float e2 = s + (a4 - a2) * 0.5f;
  const float o0 = a1 * kC1 + a3 * kC3;
  const float o1 = a1 * kC3 - a3 * kC1;
  a0 = e0 + o0, a4 = e0 - o0;
  a1 = e1 + o1, a3 = e1 - o1;
  a2 = e2;
}

/// 4-point inverse of the corner, scaled by √(4/8): ½·{1, √2·cos…} after both factors.
FW_HD inline void inverse_4(float& a0, float& a1, float& a2, float& a3) {
  constexpr float kFlat = 0.35355339059327376f;  // √(1/4)·√(1/2)
  constexpr float kC1 = 0.46193976625564337f;    // √(2/4)·cos(π/8)·√(1/2)
  constexpr float kC3 = 0.19134171618254489f;
  const float s = (a0 + a2) * kFlat;  // cos(π/4)·√2 = 1
  const float d = (a0 - a2) * kFlat;
  const float p = a1 * kC1 + a3 * kC3;
  const float q = a1 * kC3 - a3 * kC1;
  a0 = s + p, a3 = s - p, a1 = d + q, a2 = d - q;
}

/// 2-point inverse of the corner, scaled by √(2/8).
FW_HD inline void inverse_2(float& a0, float& a1) {
  constexpr float kFlat = 0.35355339059327376f;  // √(1/2)·√(1/4)
  const float s = a0 * kFlat;
  const float d = a1 * kFlat;  // √(2/2)·cos(π/4)·√(1/4)
  a0 = s + d, a1 = s - d;
}

/// Level shift, rounding half up, clamping.
FW_HD inline unsigned to_byte(float value) {
  const float shifted = value + 128.5f;
  return shifted <= 0.f ? 0u : shifted >= 255.f ? 255u : static_cast<unsigned>(shifted);
}

}  // namespace framewire::codec::cuda
