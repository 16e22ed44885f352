// Idea: one lane follows the codes of one AC scan from its first bit to its last, and notes where
// each block begins; behind it a thread a block decodes all of them at once. A batch holds
// thousands of scans, and these fill a device where a single one would leave it idle for tens of
// milliseconds.
//
// A refinement needs the history that the one before has left, but only that of its next block: the
// refinements of one component are lanes of one warp that follow one another, and take as long as
// the longest of them.
//
// Nothing on a chain's path waits for memory far away: tables lie in shared memory, words and
// histories are loaded ahead. Lanes of a warp that are at different symbols wait for each other,
// but take the device's instructions together: Tuning::chain_lanes says how many there are.
#include <codec/cuda/decode/ac_scan.hpp>
#include <codec/cuda/decode/progressive.hpp>
#include <codec/cuda/given_up.hpp>
#include <codec/cuda/zigzag.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr int kTableThreads = 128;
constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kLookupEntries = 1u << kAcLookupBits;
constexpr std::uint32_t kAllKnown = 0xFFFFFFFFu;

__global__ void __launch_bounds__(kTableThreads)
    build_ac_tables_kernel(ProgressiveView view, const CanonicalCode* codes) {
  gpu::grid_dependency_sync();
  const CanonicalCode& code = codes[blockIdx.x];
  AcLookup& table = *view.scans[blockIdx.x].table;
  for (std::uint32_t i = threadIdx.x; i < kLookupEntries; i += kTableThreads) {
    table.entries[i] = build_ac_entry(code, i);
  }
  const auto* from = reinterpret_cast<const std::uint32_t*>(&code);
  auto* to = reinterpret_cast<std::uint32_t*>(&table.code);
  for (std::uint32_t i = threadIdx.x; i < sizeof code / 4; i += kTableThreads) to[i] = from[i];
}

/// The lanes of a warp that follow chains. Left to itself a lane that went another way through one
/// symbol may never meet the others again, and the warp then works for one lane at a time.
class ChainLanes {
 public:
  /// @param mask  the lanes; all of them call this
  __device__ explicit ChainLanes(std::uint32_t mask) : mask_(mask) {}
  /// Waits for the lanes that have not left, and sees what they have written. One that does not go
  /// on leaves. @return goes_on
  __device__ bool meet(bool goes_on) {
    mask_ = __ballot_sync(mask_, goes_on ? 1 : 0);
    if (goes_on) __syncwarp(mask_);
    return goes_on;
  }

 private:
  std::uint32_t mask_;
};

/// How far the refinements of a warp have come.
class Histories {
 public:
  /// @param known  shared, [lanes]: of how many blocks the history behind this lane's scan is known
  __device__ Histories(volatile std::uint32_t* known, std::uint32_t lane, bool follows)
      : own_(known + lane), before_(follows ? own_ - 1 : nullptr) {}

  __device__ std::uint32_t known() const {
    if (before_ == nullptr) return kAllKnown;
    return *before_;
  }
  __device__ void tell(std::uint32_t blocks) const { *own_ = blocks; }

 private:
  volatile std::uint32_t* own_;
  volatile std::uint32_t* before_;
};

/// What the lanes of a warp share.
struct ChainWarp {
  std::uint32_t nth_bits[256];
  std::uint32_t known[kWarp];
};

template <bool kRefines>
__global__ void __launch_bounds__(kWarp)
    ac_chains_kernel(ProgressiveView view, const AcLane* lanes, const AcWarp* warps) {
  gpu::grid_dependency_sync();
  __shared__ ChainWarp shared;
  auto* const lookups = gpu::dynamic_shared<uint4>();
  const AcWarp warp = warps[blockIdx.x];
  constexpr std::uint32_t kVectors = kLookupEntries * sizeof(std::uint16_t) / sizeof(uint4);
  for (std::uint32_t i = threadIdx.x; i < warp.lane_count * kVectors; i += kWarp) {
    const AcScanDesc& scan = view.scans[lanes[warp.first_lane + i / kVectors].scan];
    lookups[i] = reinterpret_cast<const uint4*>(scan.table->entries)[i % kVectors];
  }
  if constexpr (kRefines) {
    for (std::uint32_t i = threadIdx.x; i < 256; i += kWarp) shared.nth_bits[i] = NthBits::row(i);
  }
  shared.known[threadIdx.x] = 0;
  __syncthreads();
  const bool has_scan = threadIdx.x < warp.lane_count;
  const AcLane lane = has_scan ? lanes[warp.first_lane + threadIdx.x] : AcLane{};
  const AcScanDesc scan = has_scan ? view.scans[lane.scan] : AcScanDesc{};
  const ProgressivePlane* plane = has_scan ? &view.planes[scan.plane] : nullptr;
  const bool decodes = has_scan && !given_up(view, plane->image);
  ChainLanes together(__ballot_sync(0xFFFFFFFFu, decodes ? 1 : 0));
  if (!decodes) return;
  const std::uint32_t blocks = plane->width_blocks * plane->height_blocks;
  const auto* entries =
      reinterpret_cast<const std::uint16_t*>(lookups) + threadIdx.x * kLookupEntries;
  std::uint32_t faults = 0;
  if constexpr (kRefines) {
    const Histories histories(shared.known, threadIdx.x, lane.follows != 0);
    RefinementChain<Histories> chain(scan, blocks, entries, NthBits(shared.nth_bits), histories);
    while (together.meet(chain.goes_on())) {
      chain.turn();
      // Nobody may wait for a lane that has left.
      if (chain.faults() != 0) histories.tell(kAllKnown);
    }
    faults = chain.faults();
  } else {
    FirstAcChain chain(scan, blocks, entries);
    while (together.meet(chain.goes_on())) chain.turn();
    faults = chain.faults();
  }
  if (faults != 0) atomicOr(&view.status[plane->image], faults);
}

template <bool kRefines>
__global__ void __launch_bounds__(kAcBlocksPerTile)
    ac_blocks_kernel(ProgressiveView view, const AcPlaneScans* planes, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ std::uint8_t order[64];
  if (threadIdx.x < 64) {
    order[threadIdx.x] = static_cast<std::uint8_t>(natural_position(threadIdx.x));
  }
  __syncthreads();
  const Tile tile = tiles[blockIdx.x];
  const AcPlaneScans of = planes[tile.owner];
  const ProgressivePlane plane = view.planes[of.plane];
  const std::uint32_t block = tile.part * kAcBlocksPerTile + threadIdx.x;
  if (block >= plane.width_blocks * plane.height_blocks || given_up(view, plane.image)) return;
  const BlockLevels place(plane, block);
  if constexpr (kRefines) {
    const AcScanDesc* scans = view.scans + of.first_scan + of.first_count;
    std::uint64_t history = plane.history[block];
    for (std::uint32_t i = 0; i < of.refinement_count; ++i) {
      refine_block(scans[i], block, place, order, plane.levels, history);
    }
  } else {
    const AcScanDesc* scans = view.scans + of.first_scan;
    std::uint64_t found = 0;
    std::uint32_t faults = 0;
    for (std::uint32_t i = 0; i < of.first_count; ++i) {
      faults |= decode_first_block(scans[i], block, place, order, plane.levels, found);
    }
    plane.history[block] = found;
    if (faults != 0) atomicOr(&view.status[plane.image], faults);
  }
}

}  // namespace

void launch_build_ac_tables(const ProgressiveView& view, const CanonicalCode* codes,
                            std::uint32_t scan_count, cudaStream_t stream) {
  if (scan_count == 0) return;
  gpu::launch(build_ac_tables_kernel, scan_count, kTableThreads, 0, stream, view, codes);
}

void launch_ac_chains(const ProgressiveView& view, const AcLane* lanes, const AcWarp* warps,
                      std::uint32_t warp_count, std::uint32_t most_lanes, bool refines,
                      cudaStream_t stream) {
  if (warp_count == 0) return;
  const auto kernel = refines ? ac_chains_kernel<true> : ac_chains_kernel<false>;
  gpu::launch(kernel, warp_count, kWarp, most_lanes * kLookupEntries * sizeof(std::uint16_t),
              stream, view, lanes, warps);
}

void launch_ac_blocks(const ProgressiveView& view, const AcPlaneScans* planes, const Tile* tiles,
                      std::uint32_t tile_count, bool refines, cudaStream_t stream) {
  if (tile_count == 0) return;
  const auto kernel = refines ? ac_blocks_kernel<true> : ac_blocks_kernel<false>;
  gpu::launch(kernel, tile_count, kAcBlocksPerTile, 0, stream, view, planes, tiles);
}

}  // namespace framewire::codec::cuda
