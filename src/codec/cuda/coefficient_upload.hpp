// Coefficients that the host decoded, as the inverse transform wants them: corners, DC apart.
#pragma once

#include <codec/coefficients.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// One component's coefficients and where the staging buffer takes them; offsets in bytes.
struct CoefficientUpload {
  const CoefficientPlane* plane = nullptr;
  std::uint32_t corner = 8;   ///< N of each block that is wanted
  bool right_edge = false;    ///< whether the last column's blocks are wanted whole
  bool bottom_edge = false;   ///< and the last row's
  std::uint64_t corners = 0;  ///< [blocks][N×N] int16
  std::uint64_t dc = 0;       ///< [blocks] int16
  std::uint64_t edges = 0;    ///< [edge_blocks()][64] int16, the order of edge_slot()
};

/// Blocks that are kept whole besides their corners.
[[nodiscard]] std::uint64_t edge_blocks(const CoefficientUpload& upload);

/// Bytes of each part, rounded up to a multiple of 16.
struct UploadBytes {
  std::uint64_t corners = 0;
  std::uint64_t dc = 0;
  std::uint64_t edges = 0;
};
[[nodiscard]] UploadBytes upload_bytes(const CoefficientUpload& upload);

/// @param staging  host; the offsets of `upload` count from here
void write_upload(const CoefficientUpload& upload, std::uint8_t* staging);

}  // namespace framewire::codec::cuda
