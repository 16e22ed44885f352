// Idea: one thread a subsequence, as in synchronise.cu, now with values. Only the low-frequency
// corner that the inverse transform wants is stored; once a block has passed it, the thread skips
// several symbols a step. DC differences go into an array of their own, where summing them costs
// 2 bytes a block instead of a sector.
#include <codec/cuda/coefficients.hpp>
#include <codec/cuda/columns.hpp>
#include <codec/cuda/zigzag.hpp>
#include <cub/block/block_scan.cuh>

namespace framewire::codec::cuda {
namespace {

constexpr std::uint8_t kOutsideCorner = 255;

/// Where the coefficients of one block go.
struct CornerSink {
  std::int16_t* coefficients;
  std::int16_t* dc;
  const std::uint8_t* positions;  ///< [64] place of each zig-zag index in the corner
  std::uint32_t stride;
  std::int16_t* block_corner = nullptr;
  std::int16_t* block_dc = nullptr;

  __device__ void begin(std::uint32_t block, std::uint32_t /*phase*/) {
    block_corner = coefficients + static_cast<std::uint64_t>(block) * stride;
    block_dc = dc + block;
  }
  __device__ void put(std::uint32_t index, std::int32_t value) const {
    const std::uint8_t position = positions[index & 63];
    std::int16_t* target = index == 0 ? block_dc : block_corner + position;
    if (position != kOutsideCorner) *target = static_cast<std::int16_t>(value);
  }
};

/// Fills the table of corner positions; returns the last zig-zag index that lies inside.
__device__ std::uint32_t load_positions(std::uint32_t corner, std::uint8_t* positions) {
  if (threadIdx.x < 64) {
    const std::uint32_t natural = natural_position(threadIdx.x);
    const std::uint32_t u = natural & 7;
    const std::uint32_t v = natural >> 3;
    positions[threadIdx.x] =
        static_cast<std::uint8_t>(u < corner && v < corner ? v * corner + u : kOutsideCorner);
  }
  return corner == 8 ? 63 : corner == 4 ? 24 : corner == 2 ? 4 : 0;
}

/// What is left of a segment behind the bit at which its last block ended.
__device__ std::uint32_t judge_end(const BatchView& batch, const ScanDesc& scan,
                                   std::uint32_t subsequence, std::uint32_t length,
                                   std::uint32_t at) {
  std::int32_t left = static_cast<std::int32_t>(length) - static_cast<std::int32_t>(at);
  const std::uint32_t end = scan.first_subsequence + scan.subsequence_slots;
  for (std::uint32_t s = subsequence + 1; s < end && s <= subsequence + 2; ++s) {
    if (is_first(batch, s)) break;
    left += static_cast<std::int32_t>(length_of(batch, s));
  }
  return left < 0 ? kTruncated : left >= 8 ? kExtraneous : 0;
}

__global__ void __launch_bounds__(kSyncThreads)
    write_coefficients_kernel(BatchView batch, const Tile* tiles, const TablePair* pairs) {
  extern __shared__ uint4 dynamic[];
  __shared__ std::uint8_t positions[64];
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  if (batch.status[scan.image] != 0) return;
  const std::uint32_t local = tile.part * kSyncThreads + threadIdx.x;
  const bool inside = local < scan.subsequence_slots;
  const std::uint32_t s = scan.first_subsequence + local;
  const std::uint32_t length = inside ? length_of(batch, s) : 0;
  if (__syncthreads_or(static_cast<int>(length)) == 0) return;
  const SharedTables tables = load_tables(scan, pairs, reinterpret_cast<std::uint32_t*>(dynamic));
  const std::uint32_t last_index = load_positions(scan.corner, positions);
  __syncthreads();
  if (length == 0) return;

  const std::uint32_t segment = scan.has_restarts != 0 ? batch.segment_of[s] : 0;
  const std::uint32_t block_end = min((segment + 1) * scan.segment_blocks, scan.total_blocks);
  const std::uint32_t first_block = batch.blocks[s];
  DecodeState state = unpack(batch.entries[s]);
  state.phase = first_block % scan.blocks_per_mcu;
  CornerSink sink{reinterpret_cast<std::int16_t*>(batch.base + scan.coefficients),
                  batch.dc + scan.first_dc, positions, scan.corner * scan.corner};
  const WriteResult result =
      write_span(column_of(batch, s), tables, scan.slots, scan.blocks_per_mcu, length, state,
                 first_block, block_end, last_index, sink);
  std::uint32_t faults = result.bad ? kBadCode : 0;
  if (first_block < block_end && result.block >= block_end)
    faults |= judge_end(batch, scan, s, length, result.at);
  if (faults != 0) atomicOr(&batch.status[scan.image], faults);
}

/// Sums of up to four components at once, modulo 2^16 as the coefficients are kept.
struct DcSum {
  std::uint32_t sum[4];
  std::uint32_t restarted;
};
struct AddDc {
  __device__ DcSum operator()(const DcSum& a, const DcSum& b) const {
    DcSum r{};
    for (int i = 0; i < 4; ++i) r.sum[i] = b.restarted != 0 ? b.sum[i] : a.sum[i] + b.sum[i];
    r.restarted = a.restarted | b.restarted;
    return r;
  }
};

/// Adds up the differences of one thread's MCUs; with `store`, writes values behind them.
__device__ void walk_dc(const ScanDesc& scan, std::int16_t* dc, std::uint32_t first_mcu,
                        std::uint32_t end_mcu, bool store, DcSum& running) {
  const std::uint32_t segment_mcus = scan.segment_blocks / scan.blocks_per_mcu;
  for (std::uint32_t mcu = first_mcu; mcu < end_mcu; ++mcu) {
    if (mcu % segment_mcus == 0) running = DcSum{{0, 0, 0, 0}, 1};
    std::int16_t* block = dc + mcu * scan.blocks_per_mcu;
    std::uint32_t components = scan.phase_components;
    for (std::uint32_t i = 0; i < scan.blocks_per_mcu; ++i, components >>= 2) {
      const auto difference = static_cast<std::uint32_t>(static_cast<std::int32_t>(block[i]));
      std::uint32_t value = 0;
#pragma unroll
      for (std::uint32_t k = 0; k < 4; ++k)
        if ((components & 3) == k) value = running.sum[k] += difference;
      if (store) block[i] = static_cast<std::int16_t>(value);
    }
  }
}

__global__ void __launch_bounds__(kImageThreads) sum_dc_kernel(BatchView batch) {
  using Scan = cub::BlockScan<DcSum, kImageThreads>;
  __shared__ typename Scan::TempStorage storage;
  const ScanDesc& scan = batch.scans[blockIdx.x];
  if (batch.status[scan.image] != 0) return;
  std::int16_t* dc = batch.dc + scan.first_dc;
  const std::uint32_t mcus = scan.total_blocks / scan.blocks_per_mcu;
  const std::uint32_t each = (mcus + kImageThreads - 1) / kImageThreads;
  const std::uint32_t first = min(mcus, threadIdx.x * each);
  const std::uint32_t end = min(mcus, first + each);
  DcSum own{};
  walk_dc(scan, dc, first, end, false, own);
  DcSum before{};
  Scan(storage).ExclusiveScan(own, before, DcSum{}, AddDc());
  walk_dc(scan, dc, first, end, true, before);
}

}  // namespace

void launch_write_coefficients(const BatchView& batch, const Tile* tiles, std::uint32_t tile_count,
                               const TablePair* pairs, std::uint32_t most_pairs,
                               cudaStream_t stream) {
  cudaFuncSetAttribute(write_coefficients_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(table_bytes(4)));
  write_coefficients_kernel<<<tile_count, kSyncThreads, table_bytes(most_pairs), stream>>>(
      batch, tiles, pairs);
}

void launch_sum_dc(const BatchView& batch, cudaStream_t stream) {
  sum_dc_kernel<<<batch.scan_count, kImageThreads, 0, stream>>>(batch);
}

}  // namespace framewire::codec::cuda
