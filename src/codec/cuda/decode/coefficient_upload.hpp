// Coefficients that the host decoded, in the form that the inverse transform reads: corners, with
// DC in an array of its own.
#pragma once

#include <codec/coefficients.hpp>
#include <cstdint>
#include <gpu/arena.hpp>

namespace framewire::codec::cuda {

/// One component's coefficients and their place in device memory.
struct CoefficientUpload {
  const CoefficientPlane* plane = nullptr;
  std::uint32_t corner = 8;            ///< N of each block that is wanted: 1, 2, 4 or 8
  bool right_edge = false;             ///< whether the last column's blocks are wanted whole
  bool bottom_edge = false;            ///< and the last row's
  gpu::Slice<std::int16_t> corners{};  ///< [blocks][N×N]
  gpu::Slice<std::int16_t> dc{};       ///< [blocks]
  gpu::Slice<std::int16_t> edges{};    ///< [edge_blocks()][64] in the order of edge_slot()
};

/// Number of dct_blocks whose 64 coefficients are kept besides their corners.
[[nodiscard]] std::uint64_t edge_blocks(const CoefficientUpload& upload);

/// Gives an upload its slices; its other members are set.
void place_upload(gpu::Arena& arena, CoefficientUpload& upload);

/// @param host  the buffer that is uploaded
void write_upload(const CoefficientUpload& upload, const gpu::Memory& host);

}  // namespace framewire::codec::cuda
