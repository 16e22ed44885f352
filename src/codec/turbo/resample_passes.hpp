// The two passes of separable resampling, vectorised; the instruction set is chosen at run time.
//
// Rows are combined first: that pass runs along contiguous memory and leaves the shorter
// picture to the pass that has to add across a vector.
#pragma once

#include <codec/turbo/fixed_filter.hpp>
#include <cstdint>

namespace framewire::codec::turbo {

/// Samples that both passes may read or write beyond the end of a row.
inline constexpr std::size_t kRowSlack = 64;

/// out[x] = Σ weights[k] × rows[k][x], rounded to kMidBits fraction bits.
/// @param rows     host, [count] pointers to [width + kRowSlack] uint8
/// @param weights  host, [count] int16, kTapBits fraction bits
/// @param out      host, [width + kRowSlack] int16; the slack is overwritten with meaningless
///                 values
/// @accuracy |out / 2^kMidBits − exact| ≤ 2^−kMidBits for the given weights
void combine_rows(const std::uint8_t* const* rows, const std::int16_t* weights, std::int32_t count,
                  std::int32_t width, std::int16_t* out);

/// out[j] = Σ weights[j][k] × in[first[j] + k], rounded, clamped to 0–255.
/// @param in   host, [in_size + kRowSlack] int16, kMidBits fraction bits; the slack must be finite
///             initialised memory, its taps are zero
/// @param out  host, [out_size] uint8
void filter_row(const std::int16_t* in, const FixedFilter& filter, std::uint8_t* out);

}  // namespace framewire::codec::turbo
