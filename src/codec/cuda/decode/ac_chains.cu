// Idea: one lane decodes one chain of AC scans from its first bit to its last. A first scan is a
// chain by itself. The refinements of one component are one chain, since each needs the history
// that the one before has left. A batch holds thousands of chains, and these fill a device where a
// single one would leave it idle for tens of milliseconds.
//
// A chain of refinements only records what is sent for each block, in three masks; what becomes of
// the levels is done for all blocks at once behind it. Nothing on a chain's path waits for memory
// that it writes: history is read a block ahead.
//
// Lanes of a warp that are at different symbols wait for each other, but take the device's
// instructions together: Tuning::chain_lanes says how many chains a warp has.
#include <codec/cuda/decode/ac_scan.hpp>
#include <codec/cuda/decode/progressive.hpp>
#include <codec/cuda/given_up.hpp>
#include <codec/cuda/zigzag.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr int kTableThreads = 128;
constexpr int kChainThreads = 128;
constexpr std::uint32_t kWarp = 32;

__global__ void __launch_bounds__(kTableThreads)
    build_ac_tables_kernel(ProgressiveView view, const CanonicalCode* codes) {
  gpu::grid_dependency_sync();
  const CanonicalCode& code = codes[blockIdx.x];
  AcLookup& table = *view.scans[blockIdx.x].table;
  for (std::uint32_t i = threadIdx.x; i < 1u << kAcLookupBits; i += kTableThreads) {
    table.entries[i] = build_ac_entry(code, i);
  }
  const auto* from = reinterpret_cast<const std::uint32_t*>(&code);
  auto* to = reinterpret_cast<std::uint32_t*>(&table.code);
  for (std::uint32_t i = threadIdx.x; i < sizeof code / 4; i += kTableThreads) to[i] = from[i];
}

/// Levels and history in device memory.
struct DeviceSink {
  std::int16_t* levels;
  unsigned long long* masks;
  RefinementRecord* records;

  __device__ void set(std::uint32_t index, std::uint32_t level) const {
    levels[index] = static_cast<std::int16_t>(level);
  }
  /// The block is the calling thread's alone.
  __device__ void correct(std::uint32_t index, std::uint32_t bit) const {
    levels[index] = static_cast<std::int16_t>(static_cast<std::uint32_t>(levels[index]) | bit);
  }
  /// Scans of other bands add to the same masks meanwhile.
  __device__ void add(std::uint32_t block, std::uint64_t mask) const {
    atomicOr(masks + block, static_cast<unsigned long long>(mask));
  }
  __device__ std::uint64_t history(std::uint32_t block) const { return masks[block]; }
  __device__ void store(std::uint32_t block, std::uint64_t mask) const { masks[block] = mask; }
  __device__ void record(std::uint32_t index, const RefinementRecord& what) const {
    records[index] = what;
  }
};

/// The lanes for which `yes` holds; all lanes of the warp call this.
__device__ std::uint32_t warp_ballot([[maybe_unused]] bool yes) {
#if defined(__CUDA_ARCH__)
  return __ballot_sync(0xFFFFFFFFu, yes ? 1 : 0);
#else
  return 0;  // emulated lanes run one after the other
#endif
}

template <bool kRefines>
__global__ void __launch_bounds__(kChainThreads)
    ac_chains_kernel(ProgressiveView view, const AcChain* chains, std::uint32_t chain_count,
                     std::uint32_t lanes) {
  gpu::grid_dependency_sync();
  __shared__ std::uint8_t order[64];
  if (threadIdx.x < 64) {
    order[threadIdx.x] = static_cast<std::uint8_t>(natural_position(threadIdx.x));
  }
  __syncthreads();
  const std::uint32_t warp = (blockIdx.x * kChainThreads + threadIdx.x) / kWarp;
  const std::uint32_t lane = threadIdx.x % kWarp;
  const std::uint32_t index = warp * lanes + lane;
  const bool has_chain = lane < lanes && index < chain_count;
  const AcChain chain = has_chain ? chains[index] : AcChain{};
  const ProgressivePlane plane =
      has_chain ? view.planes[view.scans[chain.first_scan].plane] : ProgressivePlane{};
  const bool decodes = has_chain && !given_up(view, plane.image);
  ChainLanes together(warp_ballot(decodes));
  if (!decodes) return;
  const AcScanDesc* scans = view.scans + chain.first_scan;
  DeviceSink sink{plane.levels, plane.history, chain.records};
  std::uint32_t faults = 0;
  if constexpr (kRefines) {
    const std::uint32_t blocks = plane.width_blocks * plane.height_blocks;
    faults = refine_ac(scans, chain.scan_count, blocks, sink, together);
  } else {
    faults = decode_first_ac(*scans, plane, order, sink, together);
  }
  if (faults != 0) atomicOr(&view.status[plane.image], faults);
}

__global__ void __launch_bounds__(kRefinedBlocksPerTile)
    apply_refinements_kernel(ProgressiveView view, const AcChain* chains, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ std::uint8_t order[64];
  if (threadIdx.x < 64) {
    order[threadIdx.x] = static_cast<std::uint8_t>(natural_position(threadIdx.x));
  }
  __syncthreads();
  const Tile tile = tiles[blockIdx.x];
  const AcChain chain = chains[tile.owner];
  const AcScanDesc* scans = view.scans + chain.first_scan;
  const ProgressivePlane plane = view.planes[scans->plane];
  const std::uint32_t blocks = plane.width_blocks * plane.height_blocks;
  const std::uint32_t block = tile.part * kRefinedBlocksPerTile + threadIdx.x;
  if (block >= blocks || given_up(view, plane.image)) return;
  BlockLevels place(plane);
  place.jump_to(block);
  DeviceSink sink{plane.levels, plane.history, chain.records};
  apply_refinements(scans, chain.scan_count, plane.history[block], chain.records + block, blocks,
                    place, order, sink);
}

}  // namespace

void launch_build_ac_tables(const ProgressiveView& view, const CanonicalCode* codes,
                            std::uint32_t scan_count, cudaStream_t stream) {
  if (scan_count == 0) return;
  gpu::launch(build_ac_tables_kernel, scan_count, kTableThreads, 0, stream, view, codes);
}

void launch_ac_chains(const ProgressiveView& view, const AcChain* chains, std::uint32_t chain_count,
                      bool refines, std::uint32_t lanes, cudaStream_t stream) {
  if (chain_count == 0) return;
  const std::uint32_t per_block = lanes * (kChainThreads / kWarp);
  const std::uint32_t blocks = (chain_count + per_block - 1) / per_block;
  const auto kernel = refines ? ac_chains_kernel<true> : ac_chains_kernel<false>;
  gpu::launch(kernel, blocks, kChainThreads, 0, stream, view, chains, chain_count, lanes);
}

void launch_apply_refinements(const ProgressiveView& view, const AcChain* chains, const Tile* tiles,
                              std::uint32_t tile_count, cudaStream_t stream) {
  if (tile_count == 0) return;
  gpu::launch(apply_refinements_kernel, tile_count, kRefinedBlocksPerTile, 0, stream, view, chains,
              tiles);
}

}  // namespace framewire::codec::cuda
