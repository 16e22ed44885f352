// Idea: eight threads a dct_block: each transforms a row, exchanges it through shared memory, and
// transforms a column; shuffles then turn columns into rows, and each thread stores one row at
// once. Reduced sizes: inverse_reduced.cu.
//
// Source: T.81 A.3.3 by the factorisation in transforms.hpp; edges as docs/decisions/0002.
//
// Integers become floats, and floats integers, by additions and byte permutations: the unit that
// converts serves a quarter as many threads a cycle.
#include <codec/cuda/tuning.h>
#include <codec/cuda/decode/block_place.hpp>
#include <codec/cuda/decode/inverse_dct.hpp>
#include <codec/cuda/decode/inverse_reduced.hpp>
#include <codec/cuda/transforms.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

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
  std::int32_t dc = 0;
};
constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
/// Bits of a block's index: no scan has more than the blocks of four components of 8,192 by 8,192.
constexpr std::uint32_t kBlockBits = 28;

__device__ FullBlock find_full_block(const PlaneDesc& plane, std::uint32_t index) {
  if (index >= plane.columns * plane.rows) return {0, kNowhere, 0};
  const BlockPlace place = place_needed(plane, index);
  const std::uint32_t block = scan_block(plane, place);
  const StoredBlock stored = stored_block(plane, block);
  return {block | stored.row_pairs << kBlockBits, place.x | place.y << 16, stored.dc};
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
    const std::int32_t dc = __shfl_sync(0xFFFFFFFFu, own.dc, i, 8);
    const uint2 out = invert_full(row, dc, q, space, lane);
    if (place == kNowhere) continue;
    const std::uint64_t offset =
        static_cast<std::uint64_t>(place >> 16) * (8 * plane.pitch_bytes) + (place & 0xFFFF) * 8;
    *reinterpret_cast<uint2*>(samples + offset) = out;
  }
}

/// All 64 coefficients of a partly filled block: from the edge blocks, or from the scan where it
/// keeps whole blocks.
__device__ const uint4* whole_block(const PlaneDesc& plane, BlockPlace place, std::uint32_t block) {
  if (plane.stored_corner == 8) {
    return reinterpret_cast<const uint4*>(plane.coefficients +
                                          static_cast<std::uint64_t>(block) * 64);
  }
  const std::uint32_t slot = edge_slot(
      plane.right_edge, plane.mcu_columns, plane.mcu_rows, plane.blocks_per_mcu,
      divide_small(place.x, plane.h), divide_small(place.y, plane.v), block % plane.blocks_per_mcu);
  return reinterpret_cast<const uint4*>(plane.edges + static_cast<std::uint64_t>(slot) * 64);
}

/// One column of B·F·Bᵀ with the bases of make_corner_basis().
/// @param rows    the levels F, a row each
/// @param across  of this column's basis. @param down  a basis a row of `out`
template <int kSide>
__device__ void invert_edge_column(const uint4* rows, const StoredBlock& stored,
                                   const std::uint16_t* quantiser, const float* across,
                                   const float* down, float* out) {
#pragma unroll
  for (int y = 0; y < kSide; ++y) out[y] = 0.f;
#pragma unroll
  for (int v = 0; v < 8; ++v) {
    uint4 words{0, 0, 0, 0};
    if ((stored.row_pairs >> (v / 2) & 1) != 0) words = rows[v];
    float level[8];
    to_floats(words.x, level[0], level[1]);
    to_floats(words.y, level[2], level[3]);
    to_floats(words.z, level[4], level[5]);
    to_floats(words.w, level[6], level[7]);
    if (v == 0) level[0] = static_cast<float>(stored.dc);
    float sample = 0.f;
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      sample = fmaf(across[u], level[u] * quantiser[v * 8 + u], sample);
    }
#pragma unroll
    for (int y = 0; y < kSide; ++y) out[y] = fmaf(down[y * 8 + v], sample, out[y]);
  }
}

/// Four threads a block, or eight, of which each makes a column of its samples.
/// @tparam kSide  samples an axis at most
template <int kSide>
__global__ void __launch_bounds__(kEdgeThreads) edges_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  const Tile tile = tiles[blockIdx.x];
  const PlaneDesc& plane = batch.planes[tile.owner];
  if (given_up(batch, plane.image)) return;
  constexpr std::uint32_t kColumns = kEdgeThreads / kEdgesPerTile<kSide>;
  const std::uint32_t index = tile.part * kEdgesPerTile<kSide> + threadIdx.x / kColumns;
  const std::uint32_t x = threadIdx.x % kColumns;
  const std::uint32_t columns = plane.valid_x != 8 ? plane.height_blocks : 0;
  const std::uint32_t rows = plane.valid_y != 8 ? plane.width_blocks : 0;
  if (index >= columns + rows || x >= plane.corner) return;
  const BlockPlace place = index < columns ? BlockPlace{plane.width_blocks - 1, index}
                                           : BlockPlace{index - columns, plane.height_blocks - 1};
  if (!is_needed(plane, place)) return;
  const std::uint32_t valid_x = place.x + 1 == plane.width_blocks ? plane.valid_x : 8;
  const std::uint32_t valid_y = place.y + 1 == plane.height_blocks ? plane.valid_y : 8;
  constexpr std::uint32_t kBasis = kEdgeSamples * 8;
  const float* bases = batch.edge_basis + corner_index(plane.corner) * 8 * kBasis;
  const std::uint32_t block = scan_block(plane, place);
  StoredBlock stored = stored_block(plane, block);
  if (plane.stored_corner != 8) stored.row_pairs = kAllRowPairs;
  float out[kSide];
  invert_edge_column<kSide>(whole_block(plane, place, block), stored, plane.quantiser,
                            bases + (valid_x - 1) * kBasis + x * 8, bases + (valid_y - 1) * kBasis,
                            out);
  std::uint8_t* samples = plane.samples +
                          static_cast<std::uint64_t>(place.y) * plane.corner * plane.pitch_bytes +
                          place.x * plane.corner + x;
  const std::uint32_t pitch = plane.pitch_bytes;
  const std::uint32_t height = plane.corner;
#pragma unroll
  for (std::uint32_t y = 0; y < kSide; ++y) {
    if (y < height) samples[y * pitch] = static_cast<std::uint8_t>(to_byte(out[y]));
  }
}

}  // namespace

void launch_inverse_dct(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                        std::uint32_t corner, cudaStream_t stream) {
  if (corner == 8) {
    gpu::launch(full_kernel, tile_count, kFullThreads, 0, stream, batch, tiles);
  } else {
    launch_inverse_reduced(batch, tiles, tile_count, corner, stream);
  }
}

void launch_inverse_edges(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                          bool wide, cudaStream_t stream) {
  if (tile_count == 0) return;
  const auto kernel = wide ? edges_kernel<kEdgeSamples> : edges_kernel<4>;
  gpu::launch(kernel, tile_count, kEdgeThreads, 0, stream, batch, tiles);
}

}  // namespace framewire::codec::cuda
