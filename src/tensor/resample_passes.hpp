// The two passes of resampling in single precision, vectorised; the instruction set is chosen at
// run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire::tensor {

/// What rows of samples and of floats must be readable and writable for behind their end.
inline constexpr std::size_t kRowPadding = 64;

/// out[x] = Σ weights[k] · rows[k][x].
/// @param rows  host, [count] pointers to [width, + kRowPadding] uint8
/// @param out   host, [width, + kRowPadding] float
void blend_rows(const std::uint8_t* const* rows, const float* weights, std::size_t count,
                std::size_t width, float* out);

/// out[j] = Σ weights[j][k] · in[first[j] + k].
/// @param in       host; finite also where only padding's weights of zero meet it
/// @param first    host, [out_count] @param weights  host, [out_count][stride], stride % 4 = 0
/// @param out      host, [out_count] @param out_count  a multiple of 4
void filter_row(const float* in, const std::int32_t* first, const float* weights,
                std::size_t stride, std::size_t out_count, float* out);

/// To the nearest whole number, halves to the even one, from 0 to 255.
/// @param in  host, [count, + kRowPadding] float @param out  host, [count, + kRowPadding] uint8
void round_row(const float* in, std::size_t count, std::uint8_t* out);

}  // namespace framewire::tensor
