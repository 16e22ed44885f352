// Idea: where decoding starts at an unknown place, bits fall into step within a few hundred, but
// which block of the MCU one is in takes thousands: blocks read with another component's tables
// look valid for long. So each subsequence is entered with every phase, 1,024 bits early; paths
// that have met are followed once. Then almost always one of a subsequence's paths begins where the
// true path through its predecessor ends. Where none does, the predecessor's ends are followed on
// until they meet a known path. The true path is a chain of such meetings, and the whole chain a
// product of small maps (which path of this one continues which of the last): one scan.
//
// Simulated on the host (64-byte subsequences; three 1080p photographs of 2,764 to 14,037
// subsequences): from one guess 3,072 bits early 23 to 1,046 entries are wrong, repaired in 7 to 17
// rounds one after the other. From every phase 1,024 bits early the true entry is missing 2 to 137
// times, never in more than two neighbours, and 1.3 to 2.4 paths are left.
#include <codec/cuda/tuning.h>
#include <codec/cuda/decode/guess.hpp>
#include <codec/cuda/decode/tile_scan.hpp>
#include <codec/cuda/decode/trace.hpp>
#include <cub/block/block_scan.cuh>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

/// Subsequences of a thread block: one thread for each path.
constexpr std::uint32_t kTraceSpan = 32;
constexpr int kTraceThreads = kTraceSpan * kPaths;
/// Subsequences that a path without successor is followed through.
constexpr int kMostExtensions = 8;

/// Larger than any packed state.
constexpr std::uint16_t kNoState = 0xFFFF;

/// The path that a thread of a trace kernel has.
struct OwnPath {
  std::uint32_t subsequence;  ///< over the whole batch
  std::uint32_t slot;
  std::uint32_t end;  ///< of the scan's active subsequences
  bool live;          ///< the subsequence has bits, and does not stand alone in its segment
};

__device__ OwnPath own_path(const DecodeView& batch, const ScanDesc& scan, const Tile& tile) {
  const std::uint32_t local =
      tile.part * kSpanThreads + blockIdx.y * kTraceSpan + threadIdx.x / kPaths;
  const std::uint32_t active = active_subsequences(batch, scan, tile.owner);
  OwnPath own{scan.first_subsequence + local, threadIdx.x % kPaths, scan.first_subsequence + active,
              false};
  if (local >= active && local < scan.subsequence_slots) batch.lengths[own.subsequence] = 0;
  own.live =
      local < active && length_of(batch, own.subsequence) != 0 && !is_lone(batch, scan, local);
  return own;
}

/// Whether no path of a lower slot of the same subsequence has this state; all threads of a warp
/// call it together.
__device__ bool is_new(std::uint32_t slot, bool live, std::uint32_t state) {
  const std::uint32_t first = threadIdx.x & 31 & ~(kPaths - 1);
  const std::uint32_t value = live ? state : 0xFFFFFFFFu;
  bool met = false;
  for (std::uint32_t k = 0; k < kPaths; ++k) {
    const std::uint32_t other = __shfl_sync(0xFFFFFFFFu, value, static_cast<int>(first + k));
    met = met || (k < slot && other == value);
  }
  return live && !met;
}

__global__ void __launch_bounds__(kTraceThreads)
    trace_kernel(DecodeView batch, const Tile* tiles, const TablePair* pairs) {
  gpu::grid_dependency_sync();
  auto* dynamic = gpu::dynamic_shared<uint4>();
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const OwnPath own = own_path(batch, scan, tile);
  if (__syncthreads_or(own.live ? 1 : 0) == 0) return;
  const SharedTables tables = load_tables(scan, pairs, reinterpret_cast<std::uint32_t*>(dynamic));
  const PhasePattern pattern{scan.slots, scan.period};
  __syncthreads();
  const bool first = own.live && is_first(batch, own.subsequence);
  const bool possible = own.live && own.slot < (first ? 1 : scan.period);
  std::uint32_t entry = 0;
  if (possible && !first) entry = guess_entry(batch, tables, pattern, own.subsequence, own.slot);
  const bool kept = is_new(own.slot, possible, entry);
  const std::uint32_t votes =
      __ballot_sync(0xFFFFFFFFu, kept) >> (threadIdx.x & 31 & ~(kPaths - 1)) & ((1u << kPaths) - 1);
  if (!own.live) return;
  Paths& paths = batch.paths[own.subsequence];
  const auto count = static_cast<std::uint32_t>(__popc(votes));
  if (own.slot == 0) paths.guessed = paths.count = count;
  const std::uint32_t below = (1u << own.slot) - 1;
  if (!kept) {
    // The places left over hold what no state looks like.
    const std::uint32_t place = count + static_cast<std::uint32_t>(__popc(~votes & below));
    paths.entry[place] = paths.exit[place] = kNoState;
    return;
  }
  const SkipResult result =
      decode(batch, tables, pattern, own.subsequence, length_of(batch, own.subsequence), entry);
  const int place = __popc(votes & below);
  paths.entry[place] = static_cast<std::uint16_t>(entry);
  paths.exit[place] = static_cast<std::uint16_t>(result.state);
  paths.blocks[place] = static_cast<std::uint16_t>(result.blocks);
}

/// The slot of the path that begins with a state; `count` where none does.
__device__ std::uint32_t find_entry(const Paths& paths, std::uint32_t count, std::uint32_t state) {
  std::uint32_t slot = 0;
  while (slot < count && paths.entry[slot] != state) ++slot;
  return slot;
}

/// Whether a path from the subsequence before goes on in this one.
__device__ bool goes_on(const DecodeView& batch, std::uint32_t subsequence, std::uint32_t end) {
  return subsequence < end && length_of(batch, subsequence) != 0 && !is_first(batch, subsequence);
}

/// Follows paths that end where no guessed path begins. Only guessed ones are looked at: others
/// come and go while this runs.
__global__ void __launch_bounds__(kTraceThreads)
    extend_kernel(DecodeView batch, const Tile* tiles, const TablePair* pairs) {
  gpu::grid_dependency_sync();
  auto* dynamic = gpu::dynamic_shared<uint4>();
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const OwnPath own = own_path(batch, scan, tile);
  std::uint32_t state = 0;
  const auto ends_at = [&](std::uint32_t next) {
    const Paths& paths = batch.paths[next];
    return goes_on(batch, next, own.end) &&
           find_entry(paths, paths.guessed, state) == paths.guessed;
  };
  bool open = false;
  if (own.live && own.slot < batch.paths[own.subsequence].guessed) {
    state = batch.paths[own.subsequence].exit[own.slot];
    open = ends_at(own.subsequence + 1);
  }
  if (__syncthreads_or(open ? 1 : 0) == 0) return;
  const SharedTables tables = load_tables(scan, pairs, reinterpret_cast<std::uint32_t*>(dynamic));
  const PhasePattern pattern{scan.slots, scan.period};
  __syncthreads();
  std::uint32_t next = own.subsequence + 1;
  for (int i = 0; open && i < kMostExtensions; ++i, ++next) {
    const SkipResult result = decode(batch, tables, pattern, next, length_of(batch, next), state);
    Paths& paths = batch.paths[next];
    const std::uint32_t place = atomicAdd(&paths.count, 1u);
    if (place >= kPaths) return;
    paths.entry[place] = static_cast<std::uint16_t>(state);
    paths.exit[place] = static_cast<std::uint16_t>(result.state);
    paths.blocks[place] = static_cast<std::uint16_t>(result.blocks);
    state = result.state;
    open = ends_at(next + 1);
  }
}

struct Join {
  __device__ Link operator()(const Link& a, const Link& b) const {
    if (b.restarted != 0) return b;
    std::uint32_t map = 0;
    for (std::uint32_t shift = 0; shift < 4 * kPaths; shift += 4)
      map |= (b.map >> (a.map >> shift & 0xF) * 4 & 0xF) << shift;
    return {map, a.restarted};
  }
};

/// From the subsequence before to this one. A path that nothing goes on becomes the first, whose
/// entry then disagrees.
__device__ Link link_to(const DecodeView& batch, std::uint32_t subsequence) {
  if (is_first(batch, subsequence)) return {0, 1};
  // Copies: whole arrays at once, kept in registers, as every index below is a constant.
  const Paths from = batch.paths[subsequence - 1];
  const Paths to = batch.paths[subsequence];
  Link link{0, 0};
#pragma unroll
  for (std::uint32_t slot = 0; slot < kPaths; ++slot) {
    std::uint32_t found = 0;
#pragma unroll
    for (std::uint32_t k = kPaths - 1; k > 0; --k)
      if (to.entry[k] == from.exit[slot]) found = k;
    if (to.entry[0] == from.exit[slot]) found = 0;
    link.map |= found << (4 * slot);
  }
  return link;
}

/// Every path goes on as itself.
__device__ constexpr Link same() { return {0x76543210u, 0}; }
using LinkScan = cub::BlockScan<Link, kSpanThreads, cub::BLOCK_SCAN_WARP_SCANS>;

/// Whether a subsequence has paths.
__device__ bool has_paths(const DecodeView& batch, const ScanDesc& scan, std::uint32_t local,
                          std::uint32_t active) {
  return local < active && length_of(batch, scan.first_subsequence + local) != 0 &&
         !is_lone(batch, scan, local);
}

/// First, the links of each tile: those from its start are kept in the place of entries and exits.
__global__ void __launch_bounds__(kSpanThreads)
    link_tiles_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ typename LinkScan::TempStorage storage;
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const std::uint32_t local = tile.part * kSpanThreads + threadIdx.x;
  const std::uint32_t s = scan.first_subsequence + local;
  const std::uint32_t active = active_subsequences(batch, scan, tile.owner);
  const Link own = has_paths(batch, scan, local, active) ? link_to(batch, s) : same();
  Link before{};
  Link total{};
  LinkScan(storage).ExclusiveScan(own, before, same(), Join(), total);
  if (local < active) {
    const Link here = Join()(before, own);
    batch.entries[s] = here.map;
    batch.exits[s] = here.restarted;
  }
  if (threadIdx.x == 0) batch.links[s / kSpanThreads] = total;
}

/// Then each path that is the true one.
__global__ void __launch_bounds__(kSpanThreads)
    choose_paths_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ typename LinkScan::TempStorage storage;
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const std::uint32_t local = tile.part * kSpanThreads + threadIdx.x;
  const std::uint32_t s = scan.first_subsequence + local;
  const std::uint32_t active = active_subsequences(batch, scan, tile.owner);
  const Link before = sum_of_tiles<LinkScan>(batch.links + scan.first_subsequence / kSpanThreads,
                                             tile.part, same(), Join(), storage);
  if (local >= active) return;
  const bool live = has_paths(batch, scan, local, active);
  const std::uint32_t slot = Join()(before, {batch.entries[s], batch.exits[s]}).map & 0xF;
  batch.entries[s] = live ? batch.paths[s].entry[slot] : 0;
  batch.exits[s] = live ? batch.paths[s].exit[slot] : 0;
  batch.blocks[s] = live ? batch.paths[s].blocks[slot] : 0;
}

}  // namespace

void launch_trace(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                  const TablePair* pairs, std::uint32_t most_pairs, cudaStream_t stream) {
  const dim3 blocks(tile_count, kSpanThreads / kTraceSpan);
  for (const auto kernel : {trace_kernel, extend_kernel}) {
    gpu::allow_shared(kernel, table_bytes(4));
    gpu::launch(kernel, blocks, kTraceThreads, table_bytes(most_pairs), stream, batch, tiles,
                pairs);
  }
  gpu::launch(link_tiles_kernel, tile_count, kSpanThreads, 0, stream, batch, tiles);
  gpu::launch(choose_paths_kernel, tile_count, kSpanThreads, 0, stream, batch, tiles);
}

}  // namespace framewire::codec::cuda
