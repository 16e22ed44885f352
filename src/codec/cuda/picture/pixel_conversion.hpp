// One pixel from a file's own components to what the encoder writes: the twin of color::Converter,
// rounding to 8 bits where it does.
//
// Source: transform/color.hpp and docs/color.md. Equal to Converter without a profile (on machines
// with fused multiply-add), else as near as color/pixel_table.hpp says;
// tests/unit/codec/cuda.
#pragma once

#include <base/host_device.hpp>
#include <cmath>
#include <color/table_lookup.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// jpeg::ColorModel, for kernels.
enum class PixelModel : std::uint32_t { kGray, kYcbcr, kRgb, kCmyk, kYcck };

/// What a conversion needs besides its pixels.
struct PixelConversion {
  PixelModel input = PixelModel::kYcbcr;
  std::uint32_t inverted = 0;   ///< stored inks count down (Adobe)
  std::uint32_t keep_cmyk = 0;  ///< the output is CMYK
  color::TableKind table_kind = color::TableKind::kNone;
};

FW_HD inline void ycbcr_to_rgb(const int* in, int* rgb) {
  const auto luma = static_cast<float>(in[0]);
  const auto u = static_cast<float>(in[1] - 128);
  const auto v = static_cast<float>(in[2] - 128);
  rgb[0] = color::round_sample(fmaf(1.402f, v, luma));
  rgb[1] = color::round_sample(fmaf(-0.344136286f, u, fmaf(-0.714136286f, v, luma)));
  rgb[2] = color::round_sample(fmaf(1.772f, u, luma));
}

FW_HD inline void rgb_to_ycbcr(const int* rgb, int* out) {
  const auto r = static_cast<float>(rgb[0]);
  const auto g = static_cast<float>(rgb[1]);
  const auto b = static_cast<float>(rgb[2]);
  const float luma = fmaf(0.299f, r, fmaf(0.587f, g, 0.114f * b));
  out[0] = color::round_sample(luma);
  out[1] = color::round_sample(fmaf(b - luma, 1.f / 1.772f, 128.f));
  out[2] = color::round_sample(fmaf(r - luma, 1.f / 1.402f, 128.f));
}

/// Stored samples to gray, RGB, or CMYK with 255 for full ink.
FW_HD inline void to_device_values(const PixelConversion& how, const int* in, int* out) {
  if (how.input == PixelModel::kYcbcr) return ycbcr_to_rgb(in, out);
  if (how.input == PixelModel::kYcck) {  // YCC holds the complement of the stored C, M, Y
    ycbcr_to_rgb(in, out);
    for (int c = 0; c < 3; ++c) out[c] = 255 - out[c];
  } else {
    for (int c = 0; c < 3; ++c) out[c] = in[c];
  }
  out[3] = in[3];
  const bool inks = how.input == PixelModel::kCmyk || how.input == PixelModel::kYcck;
  for (int c = 0; c < 4; ++c) {
    if (inks && how.inverted != 0) out[c] = 255 - out[c];
  }
}

/// @param in   [4]; components that the file lacks are ignored
/// @param out  [4]: gray; Y, Cb, Cr; or inverted CMYK
/// @param table    a PixelTable; null without a profile
/// @param samples  of light, for tables that want them (look_up())
FW_HD inline void convert_pixel(const PixelConversion& how, const void* table,
                                const std::uint8_t* samples, const int* in, int* out) {
  int values[4];
  int rgb[3];
  to_device_values(how, in, values);
  if (how.keep_cmyk != 0) {
    for (int c = 0; c < 4; ++c) out[c] = 255 - values[c];
    return;
  }
  if (how.table_kind != color::TableKind::kNone) {
    color::look_up(how.table_kind, table, samples, values, rgb);
  } else if (how.input == PixelModel::kCmyk || how.input == PixelModel::kYcck) {
    for (int c = 0; c < 3; ++c) rgb[c] = ((255 - values[c]) * (255 - values[3]) + 127) / 255;
  } else {
    for (int c = 0; c < 3; ++c) rgb[c] = values[c];
  }
  if (how.input == PixelModel::kGray) {
    out[0] = rgb[0];
    return;
  }
  rgb_to_ycbcr(rgb, out);
}

}  // namespace framewire::codec::cuda
