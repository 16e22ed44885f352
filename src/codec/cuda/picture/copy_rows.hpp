// Rows from planes to planes of the same device, many planes at a time.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>

namespace framewire::codec::cuda {

/// Rows to be copied from plane to plane. Both sides begin, and their rows follow, at multiples of
/// 16 bytes.
struct RowCopy {
  const std::uint8_t* from = nullptr;
  std::uint8_t* to = nullptr;
  std::uint32_t from_pitch_bytes = 0;  ///< bytes behind width_px are readable
  std::uint32_t to_pitch_bytes = 0;    ///< bytes behind width_px become zero
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
};

/// Copies all of them in one launch.
/// @param copies      device, [count]
/// @param max_quads  pieces of 16 bytes of the largest target
/// @cost one read and one write of every sample; a launch for each plane would cost more than the
///       copy of a small one
void launch_copy_rows(const RowCopy* copies, std::uint32_t count, std::uint32_t max_quads,
                      cudaStream_t stream);

}  // namespace framewire::codec::cuda
