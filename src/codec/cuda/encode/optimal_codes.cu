// Idea: symbols are counted in shared memory; then one warp a table builds Huffman's tree. Each
// lane has nine symbols and knows, for each, its depth and the node that it hangs under, so that
// joining two nodes is one step for the whole warp. The rest is serial and short.
//
// Source: T.81 K.2, figures K.1 to K.4.
#include <codec/cuda/tuning.h>
#include <codec/cuda/encode/block_coder.hpp>
#include <codec/cuda/encode/encode_place.hpp>
#include <codec/cuda/encode/optimal_codes.hpp>
#include <codec/cuda/encode/size_search.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

/// Counts symbols into [DC, AC][256].
struct SymbolCounter {
  std::uint32_t* counts;
  __device__ void symbol(std::uint32_t table, std::uint32_t symbol) {
    atomicAdd(counts + table * 256 + symbol, 1u);
  }
};

__global__ void __launch_bounds__(kBlocksPerTile)
    count_symbols_kernel(EncodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ std::uint32_t counts[1024];
  const Tile tile = tiles[blockIdx.x];
  const EncodeDesc& stream = batch.encodes[tile.owner];
  if (nothing_to_encode(batch, stream)) return;
  for (std::uint32_t i = threadIdx.x; i < 1024; i += kBlocksPerTile) counts[i] = 0;
  __syncthreads();
  const std::uint32_t block = tile.part * kBlocksPerTile + threadIdx.x;
  if (block < stream.total_blocks) {
    const EncodePlace place = place_output_block(stream, block);
    const std::uint32_t before = previous_block(stream, place, block);
    const std::int16_t* levels = stream.levels + std::uint64_t{block} * 64;
    const std::int32_t predicted =
        before == 0xFFFFFFFFu ? 0 : stream.levels[std::uint64_t{before} * 64];
    SymbolCounter counter{counts + stream.planes[place.plane].code * 512};
    visit_symbols(levels, stream.masks[block], levels[0] - predicted, counter);
  }
  __syncthreads();
  std::uint32_t* histogram = stream.optimal->histogram[0];
  for (std::uint32_t i = threadIdx.x; i < 1024; i += kBlocksPerTile) {
    if (counts[i] != 0) atomicAdd(histogram + i, counts[i]);
  }
}

constexpr int kLane = 32;
constexpr int kPerLane = (kHuffmanSymbols + kLane - 1) / kLane;
constexpr std::uint64_t kNoNode = ~0ull;

__device__ std::uint64_t warp_min(std::uint64_t value) {
  for (int step = 16; step > 0; step /= 2) {
    const std::uint64_t other = __shfl_xor_sync(0xFFFFFFFFu, value, step);
    value = other < value ? other : value;
  }
  return value;
}

/// The lightest node other than `except`; among equals the highest, so that the reserved symbol
/// goes deepest. A key holds the weight and, below it, the node counted down.
__device__ std::uint64_t lightest(const std::uint64_t* weights, int lane, int except) {
  std::uint64_t lightest_key = kNoNode;
  for (int i = 0; i < kPerLane; ++i) {
    const int node = i * kLane + lane;
    if (weights[i] == 0 || node == except) continue;
    const std::uint64_t key = weights[i] << 9 | static_cast<std::uint64_t>(511 - node);
    lightest_key = key < lightest_key ? key : lightest_key;
  }
  return warp_min(lightest_key);
}

/// Depths of all symbols in Huffman's tree. A node is named by its first symbol.
__device__ void build_tree(const std::uint32_t* histogram, int lane, std::uint8_t* depths) {
  std::uint64_t weights[kPerLane];
  int nodes[kPerLane];
  int depth[kPerLane] = {};
  for (int i = 0; i < kPerLane; ++i) {
    const int symbol = i * kLane + lane;
    nodes[i] = symbol;
    weights[i] = symbol < 256 ? histogram[symbol] : symbol == 256 ? 1 : 0;
  }
  for (;;) {
    const std::uint64_t light = lightest(weights, lane, -1);
    const int first = 511 - static_cast<int>(light & 511);
    const std::uint64_t next = lightest(weights, lane, first);
    if (next == kNoNode) break;
    const int second = 511 - static_cast<int>(next & 511);
    for (int i = 0; i < kPerLane; ++i) {
      const int symbol = i * kLane + lane;
      if (nodes[i] == first || nodes[i] == second) ++depth[i], nodes[i] = first;
      if (symbol == first) weights[i] += next >> 9;
      if (symbol == second) weights[i] = 0;
    }
  }
  for (int i = 0; i < kPerLane; ++i) {
    if (i * kLane + lane < kHuffmanSymbols) {
      depths[i * kLane + lane] = static_cast<std::uint8_t>(depth[i]);
    }
  }
}

__global__ void __launch_bounds__(kLane) make_codes_kernel(EncodeView batch, const Tile* tables) {
  gpu::grid_dependency_sync();
  __shared__ std::uint8_t depths[kHuffmanSymbols];
  const Tile table = tables[blockIdx.x];
  const EncodeDesc& stream = batch.encodes[table.owner];
  if (nothing_to_encode(batch, stream)) return;
  OptimalCodes& codes = *stream.optimal;
  const auto lane = static_cast<int>(threadIdx.x);
  build_tree(codes.histogram[table.part], lane, depths);
  __syncwarp();
  for (std::uint32_t i = threadIdx.x; i < 256; i += kLane) codes.histogram[table.part][i] = 0;
  if (lane != 0) return;
  const std::uint32_t id = (table.part & 1) << 4 | table.part >> 1;
  codes.segment_bytes[table.part] =
      assign_codes(depths, id, codes.segments[table.part], codes.codes[table.part]);
}

}  // namespace

void launch_optimal_codes(const EncodeView& batch, const EncodeWork& work, cudaStream_t stream) {
  if (work.optimal_tile_count == 0) return;
  gpu::launch(count_symbols_kernel, work.optimal_tile_count, kBlocksPerTile, 0, stream, batch,
              work.optimal_tiles);
  gpu::launch(make_codes_kernel, work.table_count, kLane, 0, stream, batch, work.tables);
}

}  // namespace framewire::codec::cuda
