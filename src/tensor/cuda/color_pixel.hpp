// One pixel's colours, as color_rows.hpp converts rows of them, bit for bit.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>
#include <tensor/geometry.hpp>

namespace framewire::tensor::cuda {

struct Pixel {
  int channels[4] = {};
};

FW_HD inline int clamp_sample(int value) { return value < 0 ? 0 : value > 255 ? 255 : value; }

FW_HD inline Pixel ycbcr_to_rgb(const Pixel& in) {
  constexpr int kHalf = 1 << 15;
  const int y = in.channels[0];
  const int cb = in.channels[1] - 128;
  const int cr = in.channels[2] - 128;
  return {{clamp_sample(y + ((cr * 91881 + kHalf) >> 16)),
           clamp_sample(y + ((kHalf - cb * 22554 - cr * 46802) >> 16)),
           clamp_sample(y + ((cb * 116130 + kHalf) >> 16)), in.channels[3]}};
}

FW_HD inline int rgb_to_gray(const Pixel& in) {
  return (19595 * in.channels[0] + 38470 * in.channels[1] + 7471 * in.channels[2] + (1 << 15)) >>
         16;
}

FW_HD inline Pixel rgb_to_ycbcr(const Pixel& in) {
  constexpr int kCentre = (128 << 16) + (1 << 15) - 1;  // libjpeg's rounding fudge
  const int r = in.channels[0];
  const int g = in.channels[1];
  const int b = in.channels[2];
  return {{rgb_to_gray(in), (-11059 * r - 21709 * g + 32768 * b + kCentre) >> 16,
           (32768 * r - 27439 * g - 5329 * b + kCentre) >> 16, 0}};
}

/// ⌊a · b / 255⌉, as Pillow's MULDIV255.
FW_HD inline int times_share(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

FW_HD inline Pixel cmyk_to_rgb(const Pixel& in) {
  const int white = in.channels[3];
  Pixel out;
  for (int c = 0; c < 3; ++c) {
    out.channels[c] = clamp_sample(white - times_share(255 - in.channels[c], white));
  }
  return out;
}

FW_HD inline Pixel convert(Conversion conversion, TensorColor color, const Pixel& in) {
  Pixel rgb = in;
  switch (conversion) {
    case Conversion::kNone:
      return in;
    case Conversion::kYcbcrToRgb:
      return ycbcr_to_rgb(in);
    case Conversion::kRgbToYcbcr:
      return rgb_to_ycbcr(in);
    case Conversion::kRgbToGray:
      return {{rgb_to_gray(in)}};
    case Conversion::kCmykToRgb:
      rgb = cmyk_to_rgb(in);
      break;
    case Conversion::kYcckToRgb:
      rgb = ycbcr_to_rgb(in);
      for (int c = 0; c < 3; ++c) rgb.channels[c] = 255 - rgb.channels[c];
      rgb = cmyk_to_rgb(rgb);
      break;
  }
  if (color == TensorColor::kGray) return {{rgb_to_gray(rgb)}};
  return color == TensorColor::kYcbcr ? rgb_to_ycbcr(rgb) : rgb;
}

}  // namespace framewire::tensor::cuda
