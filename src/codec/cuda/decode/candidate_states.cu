// Idea: enumerative speculation. Decoding that starts at an unknown bit finds true symbols within a
// few hundred bits, but needs thousands to find its dct_block of the MCU: blocks read with another
// component's tables look valid for long. So a subsequence is entered with every phase, 1,024 bits
// early. Each state that this gives at its start is a candidate; equal ones are followed once. One
// candidate is then almost always where the true decoder leaves the predecessor. If no candidate
// begins where one of the predecessor's ends, that end is followed on until it meets a candidate.
// Which candidate continues which of the predecessor's is a small map; the true candidates of all
// subsequences are the prefix products of these maps, one scan.
//
// Source: the idea is known from finite automata (Mytkowicz, Musuvathi and Schulte, ASPLOS 2014);
// the states are those of span_decoder.hpp.
//
// Shape: Candidates [subsequences]; CandidateMap [tiles of kSpanThreads subsequences].
//
// Simulated on the host (64-byte subsequences; three 1080p photographs of 2,764 to 14,037
// subsequences): with one estimate 3,072 bits early, 23 to 1,046 entries are wrong and take 7 to 17
// rounds of repair. With every phase 1,024 bits early, the true entry is missing 2 to 137 times,
// never in more than two neighbours, and 1.3 to 2.4 candidates are left of each subsequence.
#include <codec/cuda/tuning.h>
#include <codec/cuda/decode/candidate_states.hpp>
#include <codec/cuda/decode/speculation.hpp>
#include <codec/cuda/decode/tile_scan.hpp>
#include <cub/block/block_scan.cuh>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr int kCandidateThreads = kCandidateSpan * kCandidates;

/// Larger than any packed state.
constexpr std::uint16_t kNoState = 0xFFFF;

/// The candidate of one thread.
struct OwnCandidate {
  std::uint32_t subsequence;  ///< over the whole batch
  std::uint32_t slot;
  std::uint32_t end;  ///< of the scan's active subsequences
  bool live;          ///< the subsequence has bits, and does not stand alone in its segment
};

__device__ OwnCandidate own_candidate(const DecodeView& batch, const ScanDesc& scan,
                                      const Tile& tile) {
  const std::uint32_t local =
      tile.part * kSpanThreads + blockIdx.y * kCandidateSpan + threadIdx.x / kCandidates;
  const std::uint32_t active = active_subsequences(batch, scan, tile.owner);
  OwnCandidate own{scan.first_subsequence + local, threadIdx.x % kCandidates,
                   scan.first_subsequence + active, false};
  if (local >= active && local < scan.subsequence_slots) batch.lengths[own.subsequence] = 0;
  own.live =
      local < active && length_of(batch, own.subsequence) != 0 && !is_lone(batch, scan, local);
  return own;
}

/// Whether no candidate in a lower slot of the same subsequence has this state. All threads of a
/// warp call it together.
__device__ bool is_new(std::uint32_t slot, bool live, std::uint32_t state) {
  const std::uint32_t first = threadIdx.x & 31 & ~(kCandidates - 1);
  const std::uint32_t value = live ? state : 0xFFFFFFFFu;
  bool met = false;
  for (std::uint32_t k = 0; k < kCandidates; ++k) {
    const std::uint32_t other = __shfl_sync(0xFFFFFFFFu, value, static_cast<int>(first + k));
    met = met || (k < slot && other == value);
  }
  return live && !met;
}

/// First kernel: finds the candidates of each subsequence and decodes it from each.
__global__ void __launch_bounds__(kCandidateThreads)
    follow_kernel(DecodeView batch, const Tile* tiles, const TablePair* pairs) {
  gpu::grid_dependency_sync();
  auto* dynamic = gpu::dynamic_shared<uint4>();
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const OwnCandidate own = own_candidate(batch, scan, tile);
  if (__syncthreads_or(own.live ? 1 : 0) == 0) return;
  const SharedTables tables = load_tables(scan, pairs, reinterpret_cast<std::uint32_t*>(dynamic));
  const PhasePattern pattern{scan.block_tables, scan.period};
  __syncthreads();
  const bool first = own.live && is_first(batch, own.subsequence);
  const bool possible = own.live && own.slot < (first ? 1 : scan.period);
  std::uint32_t entry = 0;
  if (possible && !first) {
    entry = speculate_entry(batch, tables, pattern, own.subsequence, own.slot);
  }
  const bool kept = is_new(own.slot, possible, entry);
  const std::uint32_t votes =
      __ballot_sync(0xFFFFFFFFu, kept) >> (threadIdx.x & 31 & ~(kCandidates - 1)) &
      ((1u << kCandidates) - 1);
  if (!own.live) return;
  Candidates& candidates = batch.candidates[own.subsequence];
  const auto count = static_cast<std::uint32_t>(__popc(votes));
  if (own.slot == 0) candidates.initial = candidates.count = count;
  const std::uint32_t below = (1u << own.slot) - 1;
  if (!kept) {
    // Unused slots hold a value that is no state.
    const std::uint32_t place = count + static_cast<std::uint32_t>(__popc(~votes & below));
    candidates.entry[place] = candidates.exit[place] = kNoState;
    return;
  }
  const SkipResult result =
      decode(batch, tables, pattern, own.subsequence, length_of(batch, own.subsequence), entry);
  const int place = __popc(votes & below);
  candidates.entry[place] = static_cast<std::uint16_t>(entry);
  candidates.exit[place] = static_cast<std::uint16_t>(result.state);
  candidates.blocks[place] = static_cast<std::uint16_t>(result.blocks);
}

/// The slot of the candidate with this state; `count` where there is none.
__device__ std::uint32_t find_entry(const Candidates& candidates, std::uint32_t count,
                                    std::uint32_t state) {
  std::uint32_t slot = 0;
  while (slot < count && candidates.entry[slot] != state) ++slot;
  return slot;
}

/// Whether decoding goes on from the subsequence before into this one.
__device__ bool goes_on(const DecodeView& batch, std::uint32_t subsequence, std::uint32_t end) {
  return subsequence < end && length_of(batch, subsequence) != 0 && !is_first(batch, subsequence);
}

/// Second kernel: where a candidate's end matches no initial candidate of the next subsequence,
/// decodes on and adds candidates there. Candidates added by this kernel are not looked at, since
/// other threads may be adding them at this moment.
__global__ void __launch_bounds__(kCandidateThreads)
    extend_kernel(DecodeView batch, const Tile* tiles, const TablePair* pairs) {
  gpu::grid_dependency_sync();
  auto* dynamic = gpu::dynamic_shared<uint4>();
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const OwnCandidate own = own_candidate(batch, scan, tile);
  std::uint32_t state = 0;
  const auto ends_at = [&](std::uint32_t next) {
    const Candidates& candidates = batch.candidates[next];
    return goes_on(batch, next, own.end) &&
           find_entry(candidates, candidates.initial, state) == candidates.initial;
  };
  bool open = false;
  if (own.live && own.slot < batch.candidates[own.subsequence].initial) {
    state = batch.candidates[own.subsequence].exit[own.slot];
    open = ends_at(own.subsequence + 1);
  }
  if (__syncthreads_or(open ? 1 : 0) == 0) return;
  const SharedTables tables = load_tables(scan, pairs, reinterpret_cast<std::uint32_t*>(dynamic));
  const PhasePattern pattern{scan.block_tables, scan.period};
  __syncthreads();
  std::uint32_t next = own.subsequence + 1;
  for (int i = 0; open && i < kMaxExtensions; ++i, ++next) {
    const SkipResult result = decode(batch, tables, pattern, next, length_of(batch, next), state);
    Candidates& candidates = batch.candidates[next];
    const std::uint32_t place = atomicAdd(&candidates.count, 1u);
    if (place >= kCandidates) return;
    candidates.entry[place] = static_cast<std::uint16_t>(state);
    candidates.exit[place] = static_cast<std::uint16_t>(result.state);
    candidates.blocks[place] = static_cast<std::uint16_t>(result.blocks);
    state = result.state;
    open = ends_at(next + 1);
  }
}

struct Compose {
  __device__ CandidateMap operator()(const CandidateMap& a, const CandidateMap& b) const {
    if (b.restarted != 0) return b;
    std::uint32_t map = 0;
    for (std::uint32_t shift = 0; shift < 4 * kCandidates; shift += 4) {
      map |= (b.map >> (a.map >> shift & 0xF) * 4 & 0xF) << shift;
    }
    return {map, a.restarted};
  }
};

/// Map from the predecessor's candidates to this subsequence's. An end that matches none maps to
/// slot 0, whose entry then disagrees with it, so that repair finds the place.
__device__ CandidateMap map_from_predecessor(const DecodeView& batch, std::uint32_t subsequence) {
  if (is_first(batch, subsequence)) return {0, 1};
  // Copies of the whole arrays stay in registers, since every index below is a constant.
  const Candidates from = batch.candidates[subsequence - 1];
  const Candidates to = batch.candidates[subsequence];
  CandidateMap map{0, 0};
#pragma unroll
  for (std::uint32_t slot = 0; slot < kCandidates; ++slot) {
    std::uint32_t found = 0;
#pragma unroll
    for (std::uint32_t k = kCandidates - 1; k > 0; --k) {
      if (to.entry[k] == from.exit[slot]) found = k;
    }
    if (to.entry[0] == from.exit[slot]) found = 0;
    map.map |= found << (4 * slot);
  }
  return map;
}

/// The map of a subsequence without candidates: every slot to itself.
__device__ constexpr CandidateMap identity() { return {0x76543210u, 0}; }
using CandidateMapScan = cub::BlockScan<CandidateMap, kSpanThreads, cub::BLOCK_SCAN_WARP_SCANS>;

/// Whether a subsequence has candidates.
__device__ bool has_candidates(const DecodeView& batch, const ScanDesc& scan, std::uint32_t local,
                               std::uint32_t active) {
  return local < active && length_of(batch, scan.first_subsequence + local) != 0 &&
         !is_lone(batch, scan, local);
}

/// Third kernel: the product of each tile's maps. The products from the tile's start to each of its
/// subsequences are kept in `entries` (map) and `exits` (restarted).
__global__ void __launch_bounds__(kSpanThreads)
    map_tiles_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ typename CandidateMapScan::TempStorage storage;
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const std::uint32_t local = tile.part * kSpanThreads + threadIdx.x;
  const std::uint32_t s = scan.first_subsequence + local;
  const std::uint32_t active = active_subsequences(batch, scan, tile.owner);
  const CandidateMap own =
      has_candidates(batch, scan, local, active) ? map_from_predecessor(batch, s) : identity();
  CandidateMap before{};
  CandidateMap total{};
  CandidateMapScan(storage).ExclusiveScan(own, before, identity(), Compose(), total);
  if (local < active) {
    const CandidateMap here = Compose()(before, own);
    batch.entries[s] = here.map;
    batch.exits[s] = here.restarted;
  }
  if (threadIdx.x == 0) batch.candidate_maps[s / kSpanThreads] = total;
}

/// Fourth kernel: the true candidate of each subsequence becomes its entry, exit and block count.
__global__ void __launch_bounds__(kSpanThreads) choose_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ typename CandidateMapScan::TempStorage storage;
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const std::uint32_t local = tile.part * kSpanThreads + threadIdx.x;
  const std::uint32_t s = scan.first_subsequence + local;
  const std::uint32_t active = active_subsequences(batch, scan, tile.owner);
  const CandidateMap before =
      sum_of_tiles<CandidateMapScan>(batch.candidate_maps + scan.first_subsequence / kSpanThreads,
                                     tile.part, identity(), Compose(), storage);
  if (local >= active) return;
  const bool live = has_candidates(batch, scan, local, active);
  const std::uint32_t slot = Compose()(before, {batch.entries[s], batch.exits[s]}).map & 0xF;
  batch.entries[s] = live ? batch.candidates[s].entry[slot] : 0;
  batch.exits[s] = live ? batch.candidates[s].exit[slot] : 0;
  batch.blocks[s] = live ? batch.candidates[s].blocks[slot] : 0;
}

}  // namespace

void launch_candidate_states(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                             const TablePair* pairs, std::uint32_t max_pairs, cudaStream_t stream) {
  const dim3 blocks(tile_count, kSpanThreads / kCandidateSpan);
  for (const auto kernel : {follow_kernel, extend_kernel}) {
    gpu::allow_shared(kernel, table_bytes(4));
    gpu::launch(kernel, blocks, kCandidateThreads, table_bytes(max_pairs), stream, batch, tiles,
                pairs);
  }
  gpu::launch(map_tiles_kernel, tile_count, kSpanThreads, 0, stream, batch, tiles);
  gpu::launch(choose_kernel, tile_count, kSpanThreads, 0, stream, batch, tiles);
}

}  // namespace framewire::codec::cuda
