// Idea: a thread adds up the differences of some MCUs, twelve blocks where MCUs fill these, as
// those of all usual samplings do; a scan over the thread block adds up what lies before; then each
// thread walks through its blocks once more. Where images are many, a thread block walks through
// one scan; where they are few, each tile of a scan has one.
//
// Measured (H200, batches of 512, µs an image, 4:2:0 and 4:4:4): one MCU a thread, its blocks
// loaded one by one, 0.37 and 1.21; so 0.28 and 0.55, while the
// scan had flags of restarts even where there are none.
#include <codec/cuda/tuning.h>
#include <codec/cuda/decode/dc_sums.hpp>
#include <codec/cuda/decode/tile_scan.hpp>
#include <cub/block/block_scan.cuh>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr std::uint32_t kWalkBlocks = kMaxDcRun;

/// Adds four sums of 16 bits, modulo 2^16 each.
__device__ std::uint64_t add_lanes(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kTop = 0x8000800080008000ull;
  return ((a & ~kTop) + (b & ~kTop)) ^ ((a ^ b) & kTop);
}
struct AddDc {
  __device__ DcSum operator()(const DcSum& a, const DcSum& b) const {
    return {b.restarted != 0 ? b.lanes : add_lanes(a.lanes, b.lanes), a.restarted | b.restarted};
  }
};
/// Without restart markers sums are all that is added up.
struct AddLanes {
  __device__ std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
    return add_lanes(a, b);
  }
};
using DcScan = cub::BlockScan<DcSum, kImageThreads, cub::BLOCK_SCAN_WARP_SCANS>;
using LaneScan = cub::BlockScan<std::uint64_t, kImageThreads, cub::BLOCK_SCAN_WARP_SCANS>;
union DcStorage {
  typename DcScan::TempStorage sums;
  typename LaneScan::TempStorage lanes;
};

/// How threads walk through a scan.
struct DcWalk {
  std::uint32_t blocks;        ///< dc_run_blocks()
  std::uint32_t components;    ///< of these blocks, 2 bits each
  std::uint32_t mcu_starts;    ///< bit i: block i begins an MCU; 0 without restart markers
  std::uint32_t segment_mcus;  ///< between restart markers
};

__device__ DcWalk plan_walk(const ScanDesc& scan) {
  const std::uint32_t each = scan.blocks_per_mcu;
  DcWalk walk{dc_run_blocks(each), 0, 0, scan.segment_blocks / each};
  for (std::uint32_t first = 0; first < walk.blocks; first += each) {
    walk.components |= scan.phase_components << (2 * first);
    if (scan.has_restarts != 0) walk.mcu_starts |= 1u << first;
  }
  return walk;
}

/// The words of a thread's blocks.
struct DcRun {
  std::uint32_t words[kWalkBlocks];
};

/// @param count  blocks of the run that there are; the others' words are zero
__device__ DcRun load_run(const std::uint32_t* from, std::uint32_t count) {
  DcRun run;
  if (count == kWalkBlocks) {
#pragma unroll
    for (std::uint32_t i = 0; i < kWalkBlocks; i += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(from + i);
      run.words[i] = four.x, run.words[i + 1] = four.y;
      run.words[i + 2] = four.z, run.words[i + 3] = four.w;
    }
    return run;
  }
#pragma unroll
  for (std::uint32_t i = 0; i < kWalkBlocks; ++i) run.words[i] = i < count ? from[i] : 0;
  return run;
}

__device__ void store_run(const DcRun& run, std::uint32_t* to, std::uint32_t count) {
  if (count == kWalkBlocks) {
#pragma unroll
    for (std::uint32_t i = 0; i < kWalkBlocks; i += 4) {
      const auto* words = run.words + i;
      *reinterpret_cast<uint4*>(to + i) = make_uint4(words[0], words[1], words[2], words[3]);
    }
    return;
  }
#pragma unroll
  for (std::uint32_t i = 0; i < kWalkBlocks; ++i) {
    if (i < count) to[i] = run.words[i];
  }
}

/// Replaces each difference of a run by the sum up to it.
/// @param before  the sums before the run. @param at  index of its first MCU in the segment
/// @return the sums up to its end
__device__ DcSum sum_run(const DcWalk& walk, DcRun& run, std::uint64_t before, std::uint32_t at) {
  std::uint32_t sums[4];  // of which the lower halves count
#pragma unroll
  for (int c = 0; c < 4; ++c) sums[c] = static_cast<std::uint32_t>(before >> (16 * c));
  std::uint64_t restarted = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < kWalkBlocks; ++i) {
    if (i >= walk.blocks) break;
    if ((walk.mcu_starts >> i & 1) != 0) {
      if (at == 0) {
        sums[0] = sums[1] = sums[2] = sums[3] = 0;
        restarted = 1;
      }
      at = at + 1 == walk.segment_mcus ? 0 : at + 1;
    }
    const std::uint32_t component = walk.components >> (2 * i) & 3;
#pragma unroll
    for (std::uint32_t c = 0; c < 4; ++c) {
      if (component != c) continue;
      sums[c] += run.words[i];
      run.words[i] = __byte_perm(sums[c], run.words[i], 0x7610);
    }
  }
  const std::uint32_t low = __byte_perm(sums[0], sums[1], 0x5410);
  const std::uint32_t high = __byte_perm(sums[2], sums[3], 0x5410);
  return {static_cast<std::uint64_t>(high) << 32 | low, restarted};
}

/// Sums the differences of kImageThreads runs from block `first` on; `before` is the sum of what
/// lies before them. @return their own sum
template <bool kStore>
__device__ DcSum sum_tile(const ScanDesc& scan, const DcWalk& walk, std::uint32_t first,
                          const DcSum& before, DcStorage& storage) {
  const std::uint32_t block = first + threadIdx.x * walk.blocks;
  const std::uint32_t count = block < scan.end_block ? min(walk.blocks, scan.end_block - block) : 0;
  const std::uint32_t at =
      walk.mcu_starts != 0 ? block / scan.blocks_per_mcu % walk.segment_mcus : 1;
  const DcRun differences = load_run(scan.block_words + block, count);
  DcRun run = differences;
  const DcSum own = sum_run(walk, run, 0, at);
  DcSum sum{};
  DcSum total{};
  if (walk.mcu_starts != 0) {
    DcScan(storage.sums).ExclusiveScan(own, sum, before, AddDc(), total);
  } else {
    LaneScan(storage.lanes)
        .ExclusiveScan(own.lanes, sum.lanes, before.lanes, AddLanes(), total.lanes);
  }
  if constexpr (kStore) {
    run = differences;
    (void)sum_run(walk, run, sum.lanes, at);
    store_run(run, scan.block_words + block, count);
  }
  return total;
}

__global__ void __launch_bounds__(kImageThreads, 3) sum_dc_kernel(DecodeView batch) {
  gpu::grid_dependency_sync();
  __shared__ DcStorage storage;
  const ScanDesc& scan = batch.scans[blockIdx.x];
  if (batch.status[scan.image] != 0) return;
  const DcWalk walk = plan_walk(scan);
  DcSum before{0, 0};
  for (std::uint32_t first = 0; first < scan.end_block; first += kImageThreads * walk.blocks) {
    before = AddDc()(before, sum_tile<true>(scan, walk, first, before, storage));
    __syncthreads();
  }
}

/// First kernel where images are few: the sum of each tile, a thread block a tile.
__global__ void __launch_bounds__(kImageThreads) sum_dc_tiles_kernel(DecodeView batch) {
  gpu::grid_dependency_sync();
  __shared__ DcStorage storage;
  const ScanDesc& scan = batch.scans[blockIdx.y];
  if (batch.status[scan.image] != 0) return;
  const DcWalk walk = plan_walk(scan);
  const std::uint32_t first = blockIdx.x * kImageThreads * walk.blocks;
  if (first >= scan.end_block) return;
  const DcSum total = sum_tile<false>(scan, walk, first, DcSum{0, 0}, storage);
  if (threadIdx.x == 0) scan.dc_sums[blockIdx.x] = total;
}

/// Second kernel: the values of each tile, from the sums of the tiles before it.
__global__ void __launch_bounds__(kImageThreads) spread_dc_kernel(DecodeView batch) {
  gpu::grid_dependency_sync();
  __shared__ DcStorage storage;
  const ScanDesc& scan = batch.scans[blockIdx.y];
  if (batch.status[scan.image] != 0) return;
  const DcWalk walk = plan_walk(scan);
  const std::uint32_t first = blockIdx.x * kImageThreads * walk.blocks;
  if (first >= scan.end_block) return;
  const DcSum before =
      sum_of_tiles<DcScan>(scan.dc_sums, blockIdx.x, DcSum{0, 0}, AddDc(), storage.sums);
  (void)sum_tile<true>(scan, walk, first, before, storage);
}

}  // namespace

void launch_sum_dc(const DecodeView& batch, std::uint32_t max_tiles, cudaStream_t stream) {
  if (batch.scan_count < batch.layout.many_scans) {
    const dim3 tiles(max_tiles, batch.scan_count);
    gpu::launch(sum_dc_tiles_kernel, tiles, kImageThreads, 0, stream, batch);
    gpu::launch(spread_dc_kernel, tiles, kImageThreads, 0, stream, batch);
    return;
  }
  gpu::launch(sum_dc_kernel, batch.scan_count, kImageThreads, 0, stream, batch);
}

}  // namespace framewire::codec::cuda
