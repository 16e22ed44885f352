// Reduced inverse DCT of the 5×5 and 6×6 corners of blocks; idct_run() and idct_partial() of
// scaled_idct.hpp choose it.
//
// Source: as scaled_idct.hpp. Columns by even and odd halves, a vector for each row of the corner;
// rows as sums of basis vectors, since five and six samples do not transpose well.
#pragma once

#include <array>
#include <cstdint>

namespace framewire::codec::turbo {

/// A run of blocks that lie wholly inside the picture.
/// @param n             5 or 6
/// @param coefficients  host, [count][64] int16, natural order, quantised
/// @param quantiser     host, [64] float, natural order
/// @param rows          host, n row pointers; writes n × count uint8 at each
void wide_corner_run(int n, const std::int16_t* coefficients, std::uint32_t count,
                     const float* quantiser, std::uint8_t* const* rows, std::uint32_t column);

/// One block, whose rows are first re-padded.
/// @param repad  host, [n][8] float: from the eight coefficients of a column to the low n of the
///               re-padded one
void wide_corner_cut(int n, const std::int16_t* coefficients, const float* quantiser,
                     const float* repad, std::uint8_t* const* rows, std::uint32_t column);

}  // namespace framewire::codec::turbo
