// Idea: one lane follows the codes of one AC scan from its first bit to its last, and notes where
// each block begins; behind it a thread a block decodes all of them at once. A batch holds
// thousands of scans, and these fill a device where a single one would leave it idle for tens of
// milliseconds.
//
// A refinement needs the history that the scans before it have left, but only that of its next
// block. The refinements of one component are lanes of one warp that follow one another. They
// follow its first scans, too, which warps before theirs decode at the same time and publish how
// far they are. So a component takes as long as the longest of its scans.
//
// Lanes of a warp that are at different codes wait for each other, but take the device's
// instructions together: Tuning::chain_lanes says how many chains share a warp.
//
// Measured (H200, 1920×1080 of 0.12 to 0.4 MB, a batch of 512; refinements, ms): 144 where a chain
// read tables and words from device memory, 115 with all it reads in shared memory, 81 with its
// ways through one code merged into one and addresses kept in registers. Then, with a short way for
// most codes (H100, files up to 2.2 MB, a batch of 96 through all its stages): 550 before, 290 now.
// Then (H100; all AC scans, ms, of 64 files of 0.5 to 3.1 MB and of 512 of 1920×1080, 0.3 MB):
//   first scans, blocks, refinements, blocks                                  336  92
//   codes in two tables, 824 bytes a chain instead of 1,448                   345  94
//   refinements follow first scans; who asks how far waits for the answer     303  81
//   the answer is looked at a group later                                     292  77
//   one, two or three more passes of plain codes, for half of the lanes       283, 270, 271  78
//   two for a third of the lanes; for all                                     270, 289  76, 82
#include <codec/cuda/tuning.h>
#include <algorithm>
#include <codec/cuda/decode/ac_chain.hpp>
#include <codec/cuda/decode/chain_feed.hpp>
#include <codec/cuda/decode/progressive.hpp>
#include <codec/cuda/given_up.hpp>
#include <codec/cuda/zigzag.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kLookupEntries = 1u << kAcLookupBits;

__global__ void __launch_bounds__(kAcTableThreads)
    build_ac_tables_kernel(ProgressiveView view, const CanonicalCode* codes) {
  gpu::grid_dependency_sync();
  const CanonicalCode& code = codes[blockIdx.x];
  AcLookup& table = *view.scans[blockIdx.x].table;
  for (std::uint32_t i = threadIdx.x; i < kLookupEntries; i += kAcTableThreads) {
    table.entries[i] = build_ac_entry(code, i);
  }
  const auto* from = reinterpret_cast<const std::uint32_t*>(&code);
  auto* to = reinterpret_cast<std::uint32_t*>(&table.code);
  for (std::uint32_t i = threadIdx.x; i < sizeof code / 4; i += kAcTableThreads) to[i] = from[i];
}

__device__ std::uint32_t blocks_of(const ProgressiveView& view, const AcScanDesc& scan) {
  const ProgressivePlane& plane = view.planes[scan.plane];
  return plane.width_blocks * plane.height_blocks;
}

/// One element of a store's codes. @param i  index
template <bool kRefines>
__device__ std::uint32_t make_code(const AcLookup& table, const FarCodes& far, std::uint32_t i) {
  using Store = ChainStore<kRefines>;
  if (i < Store::kNear) {
    const std::uint32_t entry = table.entries[i << (kAcLookupBits - Store::kNearBits)];
    const auto length = static_cast<int>(entry & 0xFF);
    if (length > Store::kNearBits) return chain_code::kNone;
    return chain_code::make({entry >> 8, length}, kRefines);
  }
  const std::uint32_t bits = far.bits_of(i - Store::kNear);
  if (bits > 0xFFFF) return chain_code::kNone;
  const AcCode code = walk_ac_code<Store::kNearBits>(table.code, bits);
  if (code.length > 16 - static_cast<int>(far.shift)) return chain_code::kNone;
  return chain_code::make(code, kRefines);
}

/// Makes the codes of all lanes. The rings are empty.
template <bool kRefines>
__device__ void fill_stores(const ProgressiveView& view, const AcLane* lanes, const AcWarp& warp,
                            ChainStore<kRefines>* stores) {
  using Store = ChainStore<kRefines>;
  if (threadIdx.x < warp.lane_count) {
    Store& store = stores[threadIdx.x];
    store.bit = store.block = store.known = store.known_before = 0;
    store.words_in = store.histories_in = 0;
    const AcLookup& table = *view.scans[lanes[warp.first_lane + threadIdx.x].scan].table;
    store.far = FarCodes(table.code, Store::kNearBits, Store::kFar);
  }
  __syncwarp();
  constexpr std::uint32_t kCodes = Store::kNear + Store::kFar;
  for (std::uint32_t i = threadIdx.x; i < warp.lane_count * kCodes; i += kWarp) {
    const std::uint32_t lane = i / kCodes;
    const AcLookup& table = *view.scans[lanes[warp.first_lane + lane].scan].table;
    stores[lane].codes[i % kCodes] =
        static_cast<std::uint16_t>(make_code<kRefines>(table, stores[lane].far, i % kCodes));
  }
}

/// One group of rounds of each chain of a warp.
/// @param decodes  whether this lane has a chain
template <bool kRefines, typename Chain>
__device__ void take_group(Chain& chain, bool decodes) {
  const bool takes = decodes && chain.begin_group();
  const unsigned lanes = __ballot_sync(0xFFFFFFFFu, takes);
  if (!takes) return;
  if constexpr (kRefines) {
    const bool plenty = __ballot_sync(lanes, chain.has_plenty()) == lanes;
#pragma unroll 1
    for (int i = 0; i < kAcRoundsPerFeed; ++i) chain.take_codes(lanes, plenty);
  } else {
#pragma unroll 1
    for (int i = 0; i < kAcRoundsPerFeed; ++i) chain.take_codes();
  }
  chain.end_group();
}

/// @param follow  makes the chain of a scan: (scan, blocks, store)
template <bool kRefines, typename Follow>
__device__ void follow_chains(const ProgressiveView& view, const AcLane* lanes, const AcWarp& warp,
                              ChainStore<kRefines>* stores, const Follow& follow) {
  using Feed = ChainFeed<kRefines>;
  // Lanes without a scan stand beside the first one's, and only help to feed.
  const bool has_scan = threadIdx.x < warp.lane_count;
  const std::uint32_t own = has_scan ? threadIdx.x : 0;
  const AcScanDesc scan = view.scans[lanes[warp.first_lane + own].scan];
  const std::uint32_t image = view.planes[scan.plane].image;
  const bool decodes = has_scan && !given_up(view, image);
  const std::uint32_t share = min(Feed::kMaxShare, kWarp / warp.lane_count);
  const bool feeds = threadIdx.x / share < warp.lane_count;
  const std::uint32_t fed = feeds ? threadIdx.x / share : 0;
  const AcLane fed_lane = lanes[warp.first_lane + fed];
  const AcScanDesc& fed_scan = view.scans[fed_lane.scan];
  Feed feed(fed_scan, blocks_of(view, fed_scan), stores[fed],
            fed_lane.follows != 0 ? &stores[fed - 1] : nullptr, threadIdx.x % share, share);
  auto chain = follow(scan, blocks_of(view, scan), stores[own]);
  // No chain may wait for one that nobody follows.
  if (has_scan && !decodes) {
    stores[own].known = blocks_of(view, scan);
    if (scan.passed != nullptr) store_release(scan.passed, blocks_of(view, scan));
  }
  __syncwarp();
  for (std::uint32_t group = 1; __ballot_sync(0xFFFFFFFFu, decodes && chain.goes_on() ? 1 : 0) != 0;
       ++group) {
    if (feeds) feed.store();
    __syncwarp();
    if (feeds) feed.load();
    __syncwarp();
    take_group<kRefines>(chain, decodes);
    if constexpr (!kRefines) {
      if (decodes && group % kAcGroupsPerPublication == 0) chain.publish();
    }
    __syncwarp();
  }
  if (!decodes) return;
  if constexpr (!kRefines) chain.publish();
  if (chain.faults() != 0) atomicOr(&view.status[image], chain.faults());
}

/// Which of the launch's warps this is, in the order in which they begin: those that others wait
/// for have begun before these.
__device__ std::uint32_t take_place(const ProgressiveView& view) {
  std::uint32_t place = 0;
  if (threadIdx.x == 0) place = atomicAdd(view.begun, 1u);
  return __shfl_sync(0xFFFFFFFFu, place, 0);
}

__device__ void follow_first_scans(const ProgressiveView& view, const AcLane* lanes,
                                   const AcWarp& warp) {
  auto* const stores = gpu::dynamic_shared<ChainStore<false>>();
  fill_stores(view, lanes, warp, stores);
  __syncwarp();
  follow_chains(view, lanes, warp, stores,
                [](const AcScanDesc& scan, std::uint32_t blocks, ChainStore<false>& store) {
                  return FirstAcChain(scan, blocks, store);
                });
}

__device__ void follow_refinements(const ProgressiveView& view, const AcLane* lanes,
                                   const AcWarp& warp) {
  auto* const stores = gpu::dynamic_shared<ChainStore<true>>();
  fill_stores(view, lanes, warp, stores);
  __shared__ std::uint32_t nth_rows[256];
  for (std::uint32_t i = threadIdx.x; i < 256; i += kWarp) nth_rows[i] = nth_bit::make_row(i);
  __syncwarp();
  follow_chains(view, lanes, warp, stores,
                [&](const AcScanDesc& scan, std::uint32_t blocks, ChainStore<true>& store) {
                  return RefinementChain(scan, blocks, store, nth_rows);
                });
}

/// Shared memory bounds how many of these warps a multiprocessor holds, registers do not: one block
/// is asked for, since with few registers instructions wait until others have read theirs.
__global__ void __launch_bounds__(kWarp, 1)
    ac_chains_kernel(ProgressiveView view, const AcLane* lanes, const AcWarp* warps) {
  gpu::grid_dependency_sync();
  const AcWarp warp = warps[take_place(view)];
  if (warp.refines != 0) {
    follow_refinements(view, lanes, warp);
  } else {
    follow_first_scans(view, lanes, warp);
  }
}

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
  const AcScanDesc* scans = view.scans + of.first_scan;
  std::uint64_t history = 0;
  std::uint32_t faults = 0;
  for (std::uint32_t i = 0; i < of.first_count; ++i) {
    faults |= decode_first_block(scans[i], block, place, order, plane.levels, history);
  }
  scans += of.first_count;
  for (std::uint32_t i = 0; i < of.refinement_count; ++i) {
    refine_block(scans[i], block, place, order, plane.levels, history);
  }
  if (faults != 0) atomicOr(&view.status[plane.image], faults);
}

}  // namespace

void load_ac_chains() {
  gpu::load(build_ac_tables_kernel);
  gpu::load(ac_chains_kernel);
  gpu::load(ac_blocks_kernel);
}

void launch_build_ac_tables(const ProgressiveView& view, const CanonicalCode* codes,
                            std::uint32_t scan_count, cudaStream_t stream) {
  if (scan_count == 0) return;
  gpu::launch(build_ac_tables_kernel, scan_count, kAcTableThreads, 0, stream, view, codes);
}

void launch_ac_chains(const ProgressiveView& view, const AcLane* lanes, const AcWarp* warps,
                      std::uint32_t warp_count, std::uint32_t max_lanes, cudaStream_t stream) {
  if (warp_count == 0) return;
  constexpr std::size_t kStoreBytes = std::max(sizeof(ChainStore<false>), sizeof(ChainStore<true>));
  gpu::launch(ac_chains_kernel, warp_count, kWarp, max_lanes * kStoreBytes, stream, view, lanes,
              warps);
}

void launch_ac_blocks(const ProgressiveView& view, const AcPlaneScans* planes, const Tile* tiles,
                      std::uint32_t tile_count, cudaStream_t stream) {
  if (tile_count == 0) return;
  gpu::launch(ac_blocks_kernel, tile_count, kAcBlocksPerTile, 0, stream, view, planes, tiles);
}

}  // namespace framewire::codec::cuda
