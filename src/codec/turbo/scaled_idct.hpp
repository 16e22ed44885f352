// Reduced inverse DCT: one 8×8 block of coefficients to N×N samples, N = 6, 5, 4, 2, 1.
//
// Source: the N×N low-frequency corner through an N-point inverse DCT, scaled by N/8; even/odd
// factorisation. Measured against libjpeg's averaging in docs/decisions/0002.
#pragma once

#include <array>
#include <cstdint>

namespace framewire::codec::turbo {

/// Quantiser with the transform's scale folded in, and the matrices for partly filled blocks.
struct ScaledDequantiser {
  alignas(16) std::array<float, 16> corner4{};  ///< quantiser[r][c] / 8: N/8, and ½ an axis
  std::array<float, 4> corner2{};               ///< quantiser[r][c] / 8, r, c < 2
  float dc = 0;                                 ///< quantiser[0][0] / 8
  alignas(16) std::array<float, 64> full{};     ///< quantiser, natural order
};

/// @param quantiser  host, [64] uint16, natural order
[[nodiscard]] ScaledDequantiser make_scaled_dequantiser(const std::uint16_t* quantiser);

/// Reduced inverse of blocks side by side that lie wholly inside the picture. A block's samples do
/// not depend on its neighbours.
/// @param coefficients  host, [count][64] int16, natural order, quantised
/// @param scale         N, of plan::kReducedScales
/// @param rows          host, N row pointers; writes N × count uint8 at each
void idct_run(const std::int16_t* coefficients, std::uint32_t count,
              const ScaledDequantiser& dequantiser, int scale, std::uint8_t* const* rows,
              std::uint32_t column);

/// Reduced inverse of a block of which only the first valid_columns × valid_rows samples belong to
/// the picture. The rest counts as repetitions of the last valid samples.
/// @param scale  N, as for idct_run()
void idct_partial(const std::int16_t* coefficients, const ScaledDequantiser& dequantiser, int scale,
                  int valid_columns, int valid_rows, std::uint8_t* const* rows,
                  std::uint32_t column);

}  // namespace framewire::codec::turbo
