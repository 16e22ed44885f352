// Colour conversion of planar rows, in libjpeg's 16.16 fixed point: the very numbers that Pillow
// and torchvision get on the CPU.
//
// Source: libjpeg-turbo's jdcolor.c (ycc_rgb_convert, rgb_gray_convert, ycck_cmyk_convert) and
// jccolor.c (rgb_ycc_convert); Pillow's Convert.c (cmyk2rgb). Vectorised where YCbCr becomes RGB;
// the instruction set is chosen at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace framewire::tensor {

/// What rows must be readable and writable for behind their end.
inline constexpr std::size_t kColorPadding = 64;

using InRows = std::array<const std::uint8_t*, 4>;
using OutRows = std::array<std::uint8_t*, 3>;

/// All: host, [count, + kColorPadding] uint8 a row.
void ycbcr_to_rgb(const InRows& in, std::size_t count, const OutRows& out);
void rgb_to_ycbcr(const InRows& in, std::size_t count, const OutRows& out);
void rgb_to_gray(const InRows& in, std::size_t count, std::uint8_t* out);
/// Four components as Pillow reads them: always as Adobe stores them, 0 for full ink.
void cmyk_to_rgb(const InRows& in, std::size_t count, const OutRows& out);
void ycck_to_rgb(const InRows& in, std::size_t count, const OutRows& out);

/// YCbCr to RGB in single precision, each sample rounded and clamped once.
/// @param in  host, [count, + kColorPadding] float a row
void ycbcr_to_rgb_once(const std::array<const float*, 3>& in, std::size_t count,
                       const OutRows& out);

}  // namespace framewire::tensor
