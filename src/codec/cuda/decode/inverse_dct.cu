// Idea: at reduced size, one thread a dct_block. Its corner is one or two 16-byte loads, or one a
// row where whole blocks are stored; lanes lie side by side in the plane, so that every row is
// stored as whole sectors. At full size, eight threads a block: each transforms a row, exchanges it
// through shared memory, and transforms a column; shuffles then turn columns into rows, and each
// thread stores one row at once.
//
// Source: T.81 A.3.3 by the factorisation in transforms.hpp; reduced sizes as docs/decisions/0002.
//
// Integers become floats, and floats integers, by additions and byte permutations: the unit that
// converts serves a quarter as many threads a cycle.
#include <codec/cuda/tuning.h>
#include <codec/cuda/decode/inverse_dct.hpp>
#include <codec/cuda/transforms.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

/// Position of a block in its plane.
struct BlockPlace {
  std::uint32_t x;
  std::uint32_t y;
};

/// Quotient and remainder of index / width by a float reciprocal, then corrected by one where
/// rounding was off.
__device__ BlockPlace place_block(std::uint32_t index, std::uint32_t width) {
  auto y =
      static_cast<std::uint32_t>(__fdividef(static_cast<float>(index), static_cast<float>(width)));
  if (y * width > index) --y;
  if ((y + 1) * width <= index) ++y;
  return {index - y * width, y};
}

/// Position of one of the blocks that are transformed.
__device__ BlockPlace place_needed(const PlaneDesc& plane, std::uint32_t index) {
  const BlockPlace place = place_block(index, plane.columns);
  return {plane.first_column + place.x, plane.first_row + place.y};
}

__device__ bool is_needed(const PlaneDesc& plane, BlockPlace place) {
  return place.x - plane.first_column < plane.columns && place.y - plane.first_row < plane.rows;
}

/// Quotient by a sampling factor of 1 to 4.
__device__ std::uint32_t divide_small(std::uint32_t value, std::uint32_t by) {
  return by == 1 ? value : by == 2 ? value >> 1 : by == 4 ? value >> 2 : value / 3;
}

/// Index of a block in its scan.
__device__ std::uint32_t scan_block(const PlaneDesc& plane, BlockPlace place) {
  const std::uint32_t mcu_x = divide_small(place.x, plane.h);
  const std::uint32_t mcu_y = divide_small(place.y, plane.v);
  return (mcu_y * plane.mcu_columns + mcu_x) * plane.blocks_per_mcu + plane.phase +
         (place.y - mcu_y * plane.v) * plane.h + (place.x - mcu_x * plane.h);
}

/// Copies the corner out of a block that is stored with a larger corner.
template <int kCorner>
__device__ void gather_corner(const std::int16_t* stored, std::uint32_t stride,
                              std::uint32_t row_pairs, std::int16_t* corner) {
#pragma unroll
  for (int v = 0; v < kCorner; ++v) {
#pragma unroll
    for (int u = 0; u < kCorner; ++u) {
      corner[v * kCorner + u] =
          (row_pairs >> (v / 2) & 1) != 0 ? stored[v * stride + u] : std::int16_t{0};
    }
  }
}

/// Four int16 from two words, as floats, times four quantiser steps.
__device__ void dequantise_4(uint2 words, const float* q, float* out) {
  out[0] = static_cast<float>(static_cast<std::int16_t>(words.x & 0xFFFF)) * q[0];
  out[1] = static_cast<float>(static_cast<std::int32_t>(words.x) >> 16) * q[1];
  out[2] = static_cast<float>(static_cast<std::int16_t>(words.y & 0xFFFF)) * q[2];
  out[3] = static_cast<float>(static_cast<std::int32_t>(words.y) >> 16) * q[3];
}

__device__ void invert_corner_4(const std::int16_t* corner, std::int32_t dc, const float* q,
                                std::uint8_t* out, std::uint32_t pitch) {
  const uint4 top = reinterpret_cast<const uint4*>(corner)[0];
  const uint4 bottom = reinterpret_cast<const uint4*>(corner)[1];
  float c[16];
  dequantise_4({top.x, top.y}, q, c);
  dequantise_4({top.z, top.w}, q + 4, c + 4);
  dequantise_4({bottom.x, bottom.y}, q + 8, c + 8);
  dequantise_4({bottom.z, bottom.w}, q + 12, c + 12);
  c[0] = static_cast<float>(dc) * q[0];
#pragma unroll
  for (int v = 0; v < 4; ++v) inverse_4(c[v * 4], c[v * 4 + 1], c[v * 4 + 2], c[v * 4 + 3]);
#pragma unroll
  for (int x = 0; x < 4; ++x) inverse_4(c[x], c[x + 4], c[x + 8], c[x + 12]);
#pragma unroll
  for (int y = 0; y < 4; ++y) {
    const std::uint32_t row = to_byte(c[y * 4]) | to_byte(c[y * 4 + 1]) << 8 |
                              to_byte(c[y * 4 + 2]) << 16 | to_byte(c[y * 4 + 3]) << 24;
    *reinterpret_cast<std::uint32_t*>(out + y * pitch) = row;
  }
}

__device__ void invert_corner_2(const std::int16_t* corner, std::int32_t dc, const float* q,
                                std::uint8_t* out, std::uint32_t pitch) {
  float c[4];
  dequantise_4(*reinterpret_cast<const uint2*>(corner), q, c);
  c[0] = static_cast<float>(dc) * q[0];
  inverse_2(c[0], c[1]);
  inverse_2(c[2], c[3]);
  inverse_2(c[0], c[2]);
  inverse_2(c[1], c[3]);
  *reinterpret_cast<std::uint16_t*>(out) =
      static_cast<std::uint16_t>(to_byte(c[0]) | to_byte(c[1]) << 8);
  *reinterpret_cast<std::uint16_t*>(out + pitch) =
      static_cast<std::uint16_t>(to_byte(c[2]) | to_byte(c[3]) << 8);
}

/// Converts the two signed halves of a word to floats.
__device__ void to_floats(std::uint32_t word, float& low, float& high) {
  // The float 2^23 + 2^15 + value has the bits of `value`, its sign bit turned, as the lowest of
  // its mantissa.
  constexpr float kBias = 8388608.f + 32768.f;
  const std::uint32_t turned = word ^ 0x80008000u;
  low = __uint_as_float(__byte_perm(turned, 0x4B00u, 0x5410)) - kBias;
  high = __uint_as_float(__byte_perm(turned, 0x4B00u, 0x5432)) - kBias;
}

template <int kCorner>
__device__ void inverse_wide(float* a, int step) {
  if constexpr (kCorner == 6) {
    inverse_6(a[0], a[step], a[2 * step], a[3 * step], a[4 * step], a[5 * step]);
  } else {
    inverse_5(a[0], a[step], a[2 * step], a[3 * step], a[4 * step]);
  }
}

/// @tparam kCorner  5 or 6. @param levels  of a whole block
template <int kCorner>
__device__ void invert_wide_corner(const std::int16_t* levels, std::uint32_t row_pairs,
                                   std::int32_t dc, const float* q, std::uint8_t* out,
                                   std::uint32_t pitch) {
  float c[kCorner * kCorner];
#pragma unroll
  for (int v = 0; v < kCorner; ++v) {
    uint4 words{0, 0, 0, 0};
    if ((row_pairs >> (v / 2) & 1) != 0) words = reinterpret_cast<const uint4*>(levels)[v];
    float row[6];
    to_floats(words.x, row[0], row[1]);
    to_floats(words.y, row[2], row[3]);
    to_floats(words.z, row[4], row[5]);
    if (v == 0) row[0] = static_cast<float>(dc);
#pragma unroll
    for (int u = 0; u < kCorner; ++u) c[v * kCorner + u] = row[u] * q[v * kCorner + u];
    inverse_wide<kCorner>(c + v * kCorner, 1);
  }
#pragma unroll
  for (int x = 0; x < kCorner; ++x) inverse_wide<kCorner>(c + x, kCorner);
#pragma unroll
  for (int y = 0; y < kCorner; ++y) {
    const float* row = c + y * kCorner;
    std::uint8_t* to = out + y * pitch;
    if constexpr (kCorner == 6) {
#pragma unroll
      for (int x = 0; x < 6; x += 2) {
        *reinterpret_cast<std::uint16_t*>(to + x) =
            static_cast<std::uint16_t>(to_byte(row[x]) | to_byte(row[x + 1]) << 8);
      }
    } else {
#pragma unroll
      for (int x = 0; x < 5; ++x) to[x] = static_cast<std::uint8_t>(to_byte(row[x]));
    }
  }
}

/// Zeroes samples between the last block column and the next multiple of 4. The resampler reads
/// whole words, though it weighs these samples with zero.
template <int kCorner>
__device__ void fill_row_end(std::uint8_t* out, BlockPlace place, const PlaneDesc& plane) {
  if (place.x + 1 != plane.width_blocks) return;
  for (std::uint32_t x = kCorner; (place.x * kCorner + x) % 4 != 0; ++x) {
    for (std::uint32_t y = 0; y < kCorner; ++y) out[y * plane.pitch_bytes + x] = 0;
  }
}

template <int kCorner>
__global__ void __launch_bounds__(kBlocksPerTile)
    reduced_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ float q[kCorner * kCorner];
  const Tile tile = tiles[blockIdx.x];
  const PlaneDesc& plane = batch.planes[tile.owner];
  if (given_up(batch, plane.image)) return;
  if (threadIdx.x < kCorner * kCorner) {
    q[threadIdx.x] = plane.quantiser[threadIdx.x / kCorner * 8 + threadIdx.x % kCorner];
  }
  __syncthreads();
  const std::uint32_t index = tile.part * kBlocksPerTile + threadIdx.x;
  if (index >= plane.columns * plane.rows) return;
  const BlockPlace place = place_needed(plane, index);
  const std::uint32_t block = scan_block(plane, place);
  const std::uint32_t stride = plane.stored_corner;
  const std::int16_t* corner =
      plane.coefficients + static_cast<std::uint64_t>(block) * (stride * stride);
  alignas(16) std::int16_t gathered[kCorner <= 4 ? kCorner * kCorner : 1];
  if constexpr (kCorner == 2 || kCorner == 4) {
    if (stride != kCorner) {
      gather_corner<kCorner>(corner, stride, stored_rows(plane, block), gathered);
      corner = gathered;
    }
  }
  const std::int32_t dc = plane.dc[block];
  std::uint8_t* out = plane.samples +
                      static_cast<std::uint64_t>(place.y) * kCorner * plane.pitch_bytes +
                      place.x * kCorner;
  if constexpr (kCorner > 4) {
    invert_wide_corner<kCorner>(corner, stored_rows(plane, block), dc, q, out, plane.pitch_bytes);
  } else if constexpr (kCorner == 4) {
    invert_corner_4(corner, dc, q, out, plane.pitch_bytes);
  } else if constexpr (kCorner == 2) {
    invert_corner_2(corner, dc, q, out, plane.pitch_bytes);
  } else {
    *out = static_cast<std::uint8_t>(to_byte(static_cast<float>(dc) * q[0] * 0.125f));
  }
  if constexpr (kCorner % 4 != 0) fill_row_end<kCorner>(out, place, plane);
}

constexpr int kFullBlocks = kFullThreads / 8;
/// Distances in floats between rows, and between blocks, in shared memory. With these, neither
/// storing rows in 16-byte pieces nor reading columns meets a bank twice.
constexpr int kRowStride = 12;
constexpr int kBlockStride = 8 * kRowStride + 8;

/// Four samples to four bytes, the first lowest: level shift, rounding, clamping.
__device__ std::uint32_t to_bytes(const float* samples) {
  std::uint32_t lifted[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float share = __saturatef(fmaf(samples[i], 1.f / 255.f, 128.f / 255.f));
    lifted[i] = __float_as_uint(fmaf(share, 255.f, 8388608.f));  // 2^23 + byte, rounded
  }
  return __byte_perm(__byte_perm(lifted[0], lifted[1], 0x0040),
                     __byte_perm(lifted[2], lifted[3], 0x0040), 0x5410);
}

/// Transposes 8×8 bytes among eight threads: each brings a column and gets a row.
__device__ uint2 turn_bytes(uint2 column, std::uint32_t lane) {
  const bool lower = (lane & 4) != 0;
  const std::uint32_t kept = lower ? column.y : column.x;
  const std::uint32_t got = __shfl_xor_sync(0xFFFFFFFFu, lower ? column.x : column.y, 4);
  uint2 row{lower ? got : kept, lower ? kept : got};
  const std::uint32_t pairs = (lane & 2) != 0 ? 0x3276 : 0x5410;
  row.x = __byte_perm(row.x, __shfl_xor_sync(0xFFFFFFFFu, row.x, 2), pairs);
  row.y = __byte_perm(row.y, __shfl_xor_sync(0xFFFFFFFFu, row.y, 2), pairs);
  const std::uint32_t bytes = (lane & 1) != 0 ? 0x3715 : 0x6240;
  row.x = __byte_perm(row.x, __shfl_xor_sync(0xFFFFFFFFu, row.x, 1), bytes);
  row.y = __byte_perm(row.y, __shfl_xor_sync(0xFFFFFFFFu, row.y, 1), bytes);
  return row;
}

/// Inverse-transforms one block by eight threads. @param row  this thread's coefficients. @return
/// its row of samples
__device__ uint2 invert_full(uint4 row, std::int32_t dc, const float* q, float* exchange,
                             std::uint32_t lane) {
  float a[8];
  to_floats(row.x, a[0], a[1]);
  to_floats(row.y, a[2], a[3]);
  to_floats(row.z, a[4], a[5]);
  to_floats(row.w, a[6], a[7]);
  if (lane == 0) a[0] = static_cast<float>(dc);
#pragma unroll
  for (int u = 0; u < 8; ++u) a[u] *= q[u];
  inverse_8(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
  auto* mine = reinterpret_cast<float4*>(exchange + lane * kRowStride);
  mine[0] = make_float4(a[0], a[1], a[2], a[3]);
  mine[1] = make_float4(a[4], a[5], a[6], a[7]);
  __syncwarp();
#pragma unroll
  for (int v = 0; v < 8; ++v) a[v] = exchange[v * kRowStride + lane];
  __syncwarp();
  inverse_8(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
  return turn_bytes({to_bytes(a), to_bytes(a + 4)}, lane);
}

/// A block of a tile: where it is stored in the scan, and where it goes in the plane.
struct FullBlock {
  std::uint32_t block = 0;  ///< of the scan; above kBlockBits its pairs of rows
  std::uint32_t place = 0;  ///< x, and y << 16; kNowhere behind the last block
};
constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
/// Bits of a block's index: no scan has more than the blocks of four components of 8,192 by 8,192.
constexpr std::uint32_t kBlockBits = 28;

__device__ FullBlock find_full_block(const PlaneDesc& plane, std::uint32_t index) {
  if (index >= plane.columns * plane.rows) return {0, kNowhere};
  const BlockPlace place = place_needed(plane, index);
  const std::uint32_t block = scan_block(plane, place);
  return {block | stored_rows(plane, block) << kBlockBits, place.x | place.y << 16};
}

__global__ void __launch_bounds__(kFullThreads, kFullResident)
    full_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ float4 exchange[kFullBlocks * kBlockStride / 4];
  const Tile tile = tiles[blockIdx.x];
  const PlaneDesc& plane = batch.planes[tile.owner];
  if (given_up(batch, plane.image)) return;
  const std::uint32_t lane = threadIdx.x & 7;
  const std::uint32_t slot = threadIdx.x >> 3;
  float q[8];
#pragma unroll
  for (int u = 0; u < 8; ++u) q[u] = plane.quantiser[lane * 8 + u];
  // Eight threads invert eight blocks one after the other; each of them finds one of these blocks.
  static_assert(kBlocksPerTile == 8 * kFullBlocks);
  const FullBlock own =
      find_full_block(plane, tile.part * kBlocksPerTile + lane * kFullBlocks + slot);
  float* space = reinterpret_cast<float*>(exchange) + slot * kBlockStride;
  const std::int16_t* coefficients = plane.coefficients + lane * 8;
  std::uint8_t* samples = plane.samples + lane * plane.pitch_bytes;
#pragma unroll 2
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t found = __shfl_sync(0xFFFFFFFFu, own.block, i, 8);
    const std::uint32_t place = __shfl_sync(0xFFFFFFFFu, own.place, i, 8);
    const std::uint32_t block = found & ((1u << kBlockBits) - 1);
    uint4 row{0, 0, 0, 0};
    if ((found >> (kBlockBits + lane / 2) & 1) != 0) {
      row = *reinterpret_cast<const uint4*>(coefficients + static_cast<std::uint64_t>(block) * 64);
    }
    const std::int32_t dc = lane == 0 ? plane.dc[block] : 0;
    const uint2 out = invert_full(row, dc, q, space, lane);
    if (place == kNowhere) continue;
    const std::uint64_t offset =
        static_cast<std::uint64_t>(place >> 16) * (8 * plane.pitch_bytes) + (place & 0xFFFF) * 8;
    *reinterpret_cast<uint2*>(samples + offset) = out;
  }
}

/// All 64 coefficients of a partly filled block: from the edge blocks, or from the scan where it
/// keeps whole blocks.
struct WholeBlock {
  const std::int16_t* levels;
  std::uint32_t row_pairs;  ///< stored_rows()
};

__device__ WholeBlock whole_block(const PlaneDesc& plane, BlockPlace place, std::uint32_t block) {
  if (plane.stored_corner == 8) {
    return {plane.coefficients + static_cast<std::uint64_t>(block) * 64, stored_rows(plane, block)};
  }
  const std::uint32_t slot = edge_slot(
      plane.right_edge, plane.mcu_columns, plane.mcu_rows, plane.blocks_per_mcu,
      divide_small(place.x, plane.h), divide_small(place.y, plane.v), block % plane.blocks_per_mcu);
  return {plane.edges + static_cast<std::uint64_t>(slot) * 64, kAllRowPairs};
}

/// B·F·Bᵀ with the bases of make_corner_basis().
/// @tparam kSide  up to as many samples an axis, and of `out` a row
template <int kSide>
__device__ void invert_edge(const std::int16_t* levels, std::uint32_t row_pairs, std::int32_t dc,
                            const PlaneDesc& plane, const float* across, const float* down,
                            float* out) {
  for (int i = 0; i < kSide * kSide; ++i) out[i] = 0.f;
  const auto n = static_cast<int>(plane.corner);
  for (int v = 0; v < 8; ++v) {
    float row[kSide] = {};
    for (int u = 0; u < 8; ++u) {
      const std::int32_t level = v == 0 && u == 0                  ? dc
                                 : (row_pairs >> (v / 2) & 1) != 0 ? levels[v * 8 + u]
                                                                   : 0;
      const float value = static_cast<float>(level) * plane.quantiser[v * 8 + u];
      for (int x = 0; x < kSide; ++x) row[x] = fmaf(across[x * 8 + u], value, row[x]);
    }
    for (int y = 0; y < n; ++y) {
      for (int x = 0; x < kSide; ++x) {
        out[y * kSide + x] = fmaf(down[y * 8 + v], row[x], out[y * kSide + x]);
      }
    }
  }
}

template <int kSide>
__global__ void __launch_bounds__(kBlocksPerTile)
    edges_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  const Tile tile = tiles[blockIdx.x];
  const PlaneDesc& plane = batch.planes[tile.owner];
  if (given_up(batch, plane.image)) return;
  const std::uint32_t index = tile.part * kBlocksPerTile + threadIdx.x;
  const std::uint32_t columns = plane.valid_x != 8 ? plane.height_blocks : 0;
  const std::uint32_t rows = plane.valid_y != 8 ? plane.width_blocks : 0;
  if (index >= columns + rows) return;
  const BlockPlace place = index < columns ? BlockPlace{plane.width_blocks - 1, index}
                                           : BlockPlace{index - columns, plane.height_blocks - 1};
  if (!is_needed(plane, place)) return;
  const std::uint32_t valid_x = place.x + 1 == plane.width_blocks ? plane.valid_x : 8;
  const std::uint32_t valid_y = place.y + 1 == plane.height_blocks ? plane.valid_y : 8;
  constexpr std::uint32_t kBasis = kEdgeSamples * 8;
  const float* bases = batch.edge_basis + corner_index(plane.corner) * 8 * kBasis;
  float out[kSide * kSide];
  const std::uint32_t block = scan_block(plane, place);
  const WholeBlock whole = whole_block(plane, place, block);
  invert_edge<kSide>(whole.levels, whole.row_pairs, plane.dc[block], plane,
                     bases + (valid_x - 1) * kBasis, bases + (valid_y - 1) * kBasis, out);
  std::uint8_t* samples = plane.samples +
                          static_cast<std::uint64_t>(place.y) * plane.corner * plane.pitch_bytes +
                          place.x * plane.corner;
  for (std::uint32_t y = 0; y < plane.corner; ++y) {
    for (std::uint32_t x = 0; x < plane.corner; ++x) {
      samples[y * plane.pitch_bytes + x] = static_cast<std::uint8_t>(to_byte(out[y * kSide + x]));
    }
  }
}

}  // namespace

void launch_inverse_dct(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                        std::uint32_t corner, cudaStream_t stream) {
  if (corner == 8) gpu::launch(full_kernel, tile_count, kFullThreads, 0, stream, batch, tiles);
  if (corner == 6) {
    gpu::launch(reduced_kernel<6>, tile_count, kBlocksPerTile, 0, stream, batch, tiles);
  }
  if (corner == 5) {
    gpu::launch(reduced_kernel<5>, tile_count, kBlocksPerTile, 0, stream, batch, tiles);
  }
  if (corner == 4) {
    gpu::launch(reduced_kernel<4>, tile_count, kBlocksPerTile, 0, stream, batch, tiles);
  }
  if (corner == 2) {
    gpu::launch(reduced_kernel<2>, tile_count, kBlocksPerTile, 0, stream, batch, tiles);
  }
  if (corner == 1) {
    gpu::launch(reduced_kernel<1>, tile_count, kBlocksPerTile, 0, stream, batch, tiles);
  }
}

void launch_inverse_edges(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                          bool wide, cudaStream_t stream) {
  if (tile_count == 0) return;
  const auto kernel = wide ? edges_kernel<kEdgeSamples> : edges_kernel<4>;
  gpu::launch(kernel, tile_count, kBlocksPerTile, 0, stream, batch, tiles);
}

}  // namespace framewire::codec::cuda
