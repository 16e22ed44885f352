// Idea: one thread a dct_block, and several of them a thread, since finding out what to do takes
// ten answers of memory, one behind the other. A corner is one or two 16-byte loads, or one a row
// where whole blocks are stored; lanes lie side by side in the plane, so that every row is stored
// as whole sectors.
//
// Measured (H200, batches of 512, µs an image): corners of 4 of 4:2:0 1.30 instead of 1.38, with
// a fifth fewer instructions, since rounding needs no branch and no conversion; corners of 4 and 2
// of 4:4:4, the latter lying densely, 1.42 instead of 3.33; corners of 5 or 6 2.94 instead of 3.30.
// With one block a thread and 256 threads the three take 1.25, 1.54 and 3.30, where two blocks
// took 1.25, 1.44 and 2.98 in the same run.
//
// Source: T.81 A.3.3 by the factorisation in transforms.hpp; reduced sizes as docs/decisions/0002.
#include <codec/cuda/tuning.h>
#include <codec/cuda/decode/block_place.hpp>
#include <codec/cuda/decode/inverse_reduced.hpp>
#include <codec/cuda/transforms.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

/// Level shift, rounding half up, clamping, as to_byte() does it with branches.
/// @return the byte, below others that mean nothing
__device__ std::uint32_t to_low_byte(float value) {
  const float shifted = fminf(fmaxf(value + 128.5f, 0.f), 255.f);
  return __float_as_uint(__fadd_rd(shifted, 8388608.f));  // 2^23 + byte
}
__device__ std::uint16_t to_two_bytes(const float* samples) {
  return static_cast<std::uint16_t>(
      __byte_perm(to_low_byte(samples[0]), to_low_byte(samples[1]), 0x0040));
}
__device__ std::uint32_t to_four_bytes(const float* samples) {
  const std::uint32_t first = __byte_perm(to_low_byte(samples[0]), to_low_byte(samples[1]), 0x0040);
  const std::uint32_t second =
      __byte_perm(to_low_byte(samples[2]), to_low_byte(samples[3]), 0x0040);
  return __byte_perm(first, second, 0x5410);
}

/// What is read of a block: the levels of its corner by rows, two a word, and its DC value.
template <int kCorner>
struct CornerLevels {
  std::uint32_t words[kCorner == 1 ? 1 : kCorner * kCorner / 2];
  std::int32_t dc;
};

/// Reads the corner of a block that is stored with a corner of `side`.
/// @param row_pairs  StoredBlock::row_pairs
__device__ void read_levels(const std::int16_t* from, std::uint32_t side, std::uint32_t row_pairs,
                            CornerLevels<4>& levels) {
  uint4 top{0, 0, 0, 0};
  uint4 bottom{0, 0, 0, 0};
  if (side == 4) {
    if ((row_pairs & 1) != 0) top = reinterpret_cast<const uint4*>(from)[0];
    if ((row_pairs & 2) != 0) bottom = reinterpret_cast<const uint4*>(from)[1];
  } else {
    const auto* rows = reinterpret_cast<const uint2*>(from);
    if ((row_pairs & 1) != 0) top = {rows[0].x, rows[0].y, rows[2].x, rows[2].y};
    if ((row_pairs & 2) != 0) bottom = {rows[4].x, rows[4].y, rows[6].x, rows[6].y};
  }
  levels.words[0] = top.x, levels.words[1] = top.y, levels.words[2] = top.z;
  levels.words[3] = top.w, levels.words[4] = bottom.x, levels.words[5] = bottom.y;
  levels.words[6] = bottom.z, levels.words[7] = bottom.w;
}
__device__ void read_levels(const std::int16_t* from, std::uint32_t side, std::uint32_t row_pairs,
                            CornerLevels<2>& levels) {
  // Two words that lie `side` levels apart.
  const auto* words = reinterpret_cast<const std::uint32_t*>(from);
  const bool stored = (row_pairs & 1) != 0;
  levels.words[0] = stored ? words[0] : 0;
  levels.words[1] = stored ? words[side / 2] : 0;
}
__device__ void read_levels(const std::int16_t* /*from*/, std::uint32_t /*side*/,
                            std::uint32_t /*row_pairs*/, CornerLevels<1>& /*levels*/) {}

/// @tparam kCorner  1, 2 or 4
template <int kCorner>
__device__ CornerLevels<kCorner> load_corner(const PlaneDesc& plane, ScanPlace place) {
  CornerLevels<kCorner> levels;
  const StoredBlock stored = stored_block(plane, block_of(plane, place));
  levels.dc = stored.dc;
  const std::uint32_t side = plane.stored_corner;
  const std::uint64_t at = static_cast<std::uint64_t>(place.mcu) * plane.mcu_bytes +
                           (plane.phase_bytes + place.own * corner_bytes(side));
  read_levels(plane.coefficients + at / 2, side, stored.row_pairs, levels);
  return levels;
}

/// @param q  the corner's quantiser steps by rows, like `c`
template <int kCorner>
__device__ void dequantise(const CornerLevels<kCorner>& levels, const float* q, float* c) {
#pragma unroll
  for (int i = 0; i < kCorner * kCorner / 2; ++i) {
    to_floats(levels.words[i], c[2 * i], c[2 * i + 1]);
  }
  c[0] = static_cast<float>(levels.dc);
#pragma unroll
  for (int i = 0; i < kCorner * kCorner; ++i) c[i] *= q[i];
}

__device__ void invert_corner(const CornerLevels<1>& levels, const float* q, std::uint8_t* out,
                              std::uint32_t /*pitch*/) {
  *out = static_cast<std::uint8_t>(to_low_byte(static_cast<float>(levels.dc) * q[0] * 0.125f));
}
__device__ void invert_corner(const CornerLevels<2>& levels, const float* q, std::uint8_t* out,
                              std::uint32_t pitch) {
  float c[4];
  dequantise(levels, q, c);
  inverse_2(c[0], c[1]);
  inverse_2(c[2], c[3]);
  inverse_2(c[0], c[2]);
  inverse_2(c[1], c[3]);
  *reinterpret_cast<std::uint16_t*>(out) = to_two_bytes(c);
  *reinterpret_cast<std::uint16_t*>(out + pitch) = to_two_bytes(c + 2);
}
__device__ void invert_corner(const CornerLevels<4>& levels, const float* q, std::uint8_t* out,
                              std::uint32_t pitch) {
  float c[16];
  dequantise(levels, q, c);
#pragma unroll
  for (int v = 0; v < 4; ++v) inverse_4(c[v * 4], c[v * 4 + 1], c[v * 4 + 2], c[v * 4 + 3]);
#pragma unroll
  for (int x = 0; x < 4; ++x) inverse_4(c[x], c[x + 4], c[x + 8], c[x + 12]);
#pragma unroll
  for (int y = 0; y < 4; ++y) {
    *reinterpret_cast<std::uint32_t*>(out + y * pitch) = to_four_bytes(c + y * 4);
  }
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
        *reinterpret_cast<std::uint16_t*>(to + x) = to_two_bytes(row + x);
      }
    } else {
#pragma unroll
      for (int x = 0; x < 5; ++x) to[x] = static_cast<std::uint8_t>(to_low_byte(row[x]));
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
__device__ std::uint8_t* samples_of(const PlaneDesc& plane, BlockPlace place) {
  return plane.samples + static_cast<std::uint64_t>(place.y) * kCorner * plane.pitch_bytes +
         place.x * kCorner;
}

/// Inverts blocks kReducedThreads apart, all of which are read before any is written.
template <int kCorner>
__device__ void invert_corners(const PlaneDesc& plane, std::uint32_t first, const float* q) {
  constexpr int kEach = kBlocksPerTile / kReducedThreads;
  const std::uint32_t count = plane.columns * plane.rows;
  BlockPlace places[kEach];
  CornerLevels<kCorner> levels[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    // Behind the last block the last one is read again.
    places[i] = place_needed(plane, min(first + i * kReducedThreads, count - 1));
    levels[i] = load_corner<kCorner>(plane, place_in_scan(plane, places[i]));
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (first + i * kReducedThreads >= count) return;
    std::uint8_t* const out = samples_of<kCorner>(plane, places[i]);
    invert_corner(levels[i], q, out, plane.pitch_bytes);
    if constexpr (kCorner != 4) fill_row_end<kCorner>(out, places[i], plane);
  }
}

/// The same of corners of 5 or 6, one after the other.
template <int kCorner>
__device__ void invert_wide_corners(const PlaneDesc& plane, std::uint32_t first, const float* q) {
  const std::uint32_t count = plane.columns * plane.rows;
  for (std::uint32_t i = 0; i < kBlocksPerTile; i += kReducedThreads) {
    if (first + i >= count) return;
    const BlockPlace place = place_needed(plane, first + i);
    const std::uint32_t block = scan_block(plane, place);
    std::uint8_t* const out = samples_of<kCorner>(plane, place);
    const StoredBlock stored = stored_block(plane, block);
    invert_wide_corner<kCorner>(plane.coefficients + static_cast<std::uint64_t>(block) * 64,
                                stored.row_pairs, stored.dc, q, out, plane.pitch_bytes);
    fill_row_end<kCorner>(out, place, plane);
  }
}

template <int kCorner>
__global__ void __launch_bounds__(kReducedThreads)
    reduced_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ float q[kCorner * kCorner];
  const Tile tile = tiles[blockIdx.x];
  // A copy, or samples that are written could be parts of it.
  const PlaneDesc plane = batch.planes[tile.owner];
  if (given_up(batch, plane.image)) return;
  if (threadIdx.x < kCorner * kCorner) {
    q[threadIdx.x] =
        batch.planes[tile.owner].quantiser[threadIdx.x / kCorner * 8 + threadIdx.x % kCorner];
  }
  __syncthreads();
  const std::uint32_t first = tile.part * kBlocksPerTile + threadIdx.x;
  if constexpr (kCorner > 4) {
    invert_wide_corners<kCorner>(plane, first, q);
  } else {
    invert_corners<kCorner>(plane, first, q);
  }
}

template <int kCorner>
void launch_corner(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                   cudaStream_t stream) {
  gpu::launch(reduced_kernel<kCorner>, tile_count, kReducedThreads, 0, stream, batch, tiles);
}

}  // namespace

void launch_inverse_reduced(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                            std::uint32_t corner, cudaStream_t stream) {
  if (corner == 6) launch_corner<6>(batch, tiles, tile_count, stream);
  if (corner == 5) launch_corner<5>(batch, tiles, tile_count, stream);
  if (corner == 4) launch_corner<4>(batch, tiles, tile_count, stream);
  if (corner == 2) launch_corner<2>(batch, tiles, tile_count, stream);
  if (corner == 1) launch_corner<1>(batch, tiles, tile_count, stream);
}

}  // namespace framewire::codec::cuda
