// Chroma rows at the size of luma, as libjpeg-turbo makes them ("fancy", a triangle), bit for bit.
//
// Source: libjpeg-turbo's jdsample.c: h2v1_fancy_upsample, h2v2_fancy_upsample,
// h1v2_fancy_upsample, int_upsample. Vectorised; the instruction set is chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire::tensor {

/// What rows must be readable and writable for behind their end.
inline constexpr std::size_t kUpsamplePadding = 128;

/// Twice as wide: (3 · near + far + 1) >> 2 to the left of a sample's centre, + 2 to the right.
/// @param in   host, [−1, count] uint8: one sample before, one behind; at a plane's edge its
/// repetition
/// @param out  host, [2 · count] uint8
void upsample_2x1(const std::uint8_t* in, std::size_t count, std::uint8_t* out);

/// Twice as wide and high: one of the two output rows of an input row.
/// @param near  host, [−1, count] uint8: the input row
/// @param far   the row above it for the upper output row, below it for the lower one
void upsample_2x2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count,
                  std::uint8_t* out);

/// Twice as high. @param bias  1 for the upper output row, 2 for the lower one
void upsample_1x2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, int bias,
                  std::uint8_t* out);

}  // namespace framewire::tensor
