// Idea: each thread warms up on the last kWarmBits of its predecessor, so that most first guesses
// are right, then decodes its own subsequence. Where a guess differs from the predecessor's exit,
// the subsequence is decoded again; those that need it are packed into few warps, round after
// round.
#include <codec/cuda/columns.hpp>
#include <codec/cuda/synchronise.hpp>
#include <cub/block/block_scan.cuh>

namespace framewire::codec::cuda {
namespace {

constexpr int kBuildThreads = 512;

__global__ void __launch_bounds__(kBuildThreads)
    build_tables_kernel(const CanonicalCode* codes, TablePair* pairs) {
  TablePair& pair = pairs[blockIdx.x];
  if (threadIdx.x < 2) pair.code[threadIdx.x] = codes[blockIdx.x * 2 + threadIdx.x];
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < 2 * kTableEntries; i += blockDim.x) {
    const bool dc = i < kTableEntries;
    pair.entries[dc ? 0 : 1][i % kTableEntries] =
        build_entry(pair.code[0], pair.code[1], dc, i % kTableEntries);
  }
}

struct Shared {
  std::uint32_t entry[kSyncThreads];
  std::uint32_t exit[kSyncThreads];
  std::uint32_t blocks[kSyncThreads];
  std::uint32_t list[kSyncThreads];
  std::uint32_t count;
};

/// Decodes one subsequence from a packed state.
__device__ SkipResult decode(const BatchView& batch, const SharedTables& tables,
                             PhasePattern pattern, std::uint32_t subsequence, std::uint32_t length,
                             std::uint32_t packed) {
  const DecodeState s = unpack(packed);
  return skip_span(column_of(batch, subsequence), tables, pattern, length, s.bit, s.phase, s.index);
}

/// The state at the start of a subsequence, guessed from its predecessor's last bits.
__device__ std::uint32_t guess_entry(const BatchView& batch, const SharedTables& tables,
                                     PhasePattern pattern, std::uint32_t subsequence) {
  const std::uint32_t before = length_of(batch, subsequence - 1);
  const std::uint32_t start = before > kWarmBits ? before - kWarmBits : 0;
  return skip_span(column_of(batch, subsequence - 1), tables, pattern, before, start, 0, 0).state;
}

/// Lists the threads of the block for which `wanted` holds; returns their number.
__device__ std::uint32_t list_threads(Shared& shared, bool wanted) {
  if (threadIdx.x == 0) shared.count = 0;
  __syncthreads();
  const std::uint32_t votes = __ballot_sync(0xFFFFFFFFu, wanted);
  const std::uint32_t lane = threadIdx.x & 31;
  std::uint32_t base = 0;
  if (lane == 0 && votes != 0)
    base = atomicAdd(&shared.count, static_cast<std::uint32_t>(__popc(votes)));
  base = __shfl_sync(0xFFFFFFFFu, base, 0);
  if (wanted) shared.list[base + __popc(votes & ((1u << lane) - 1))] = threadIdx.x;
  __syncthreads();
  return shared.count;
}

__global__ void __launch_bounds__(kSyncThreads)
    synchronise_kernel(BatchView batch, const Tile* tiles, const TablePair* pairs) {
  extern __shared__ uint4 dynamic[];
  __shared__ Shared shared;
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const std::uint32_t t = threadIdx.x;
  const std::uint32_t local = tile.part * kSyncThreads + t;
  const std::uint32_t base = scan.first_subsequence + tile.part * kSyncThreads;
  const std::uint32_t subsequence = base + t;
  std::uint32_t marked = local < scan.subsequence_slots ? batch.lengths[subsequence] : 0;
  if (scan.has_restarts == 0 && local * kSubsequenceBytes >= batch.scan_end[tile.owner]) {
    marked = 0;
    if (local < scan.subsequence_slots) batch.lengths[subsequence] = 0;
  }
  const std::uint32_t length = marked & ~kFirstOfSegment;
  const bool follows = length != 0 && (marked & kFirstOfSegment) == 0;
  if (__syncthreads_or(static_cast<int>(length)) == 0) return;
  const SharedTables tables = load_tables(scan, pairs, reinterpret_cast<std::uint32_t*>(dynamic));
  const PhasePattern pattern{scan.slots, scan.period};
  __syncthreads();

  const std::uint32_t entry = follows ? guess_entry(batch, tables, pattern, subsequence) : 0;
  const SkipResult own = decode(batch, tables, pattern, subsequence, length, entry);
  shared.entry[t] = entry;
  shared.exit[t] = own.state;
  shared.blocks[t] = own.blocks;
  for (int round = 0; round < kSyncRounds; ++round) {
    __syncthreads();
    const bool wrong = follows && t > 0 && shared.entry[t] != shared.exit[t - 1];
    const std::uint32_t count = list_threads(shared, wrong);
    if (count == 0) break;
    SkipResult again;
    std::uint32_t target = 0;
    std::uint32_t start = 0;
    if (t < count) {
      target = shared.list[t];
      start = shared.exit[target - 1];
      again = decode(batch, tables, pattern, base + target, length_of(batch, base + target), start);
    }
    __syncthreads();
    if (t < count) {
      shared.entry[target] = start;
      shared.exit[target] = again.state;
      shared.blocks[target] = again.blocks;
    }
  }
  __syncthreads();
  if (local >= scan.subsequence_slots) return;
  batch.entries[subsequence] = shared.entry[t];
  batch.exits[subsequence] = shared.exit[t];
  batch.blocks[subsequence] = shared.blocks[t];
}

/// Whether a subsequence was decoded from another state than its predecessor left.
__device__ bool disagrees(const BatchView& batch, std::uint32_t subsequence) {
  return length_of(batch, subsequence) != 0 && !is_first(batch, subsequence) &&
         batch.entries[subsequence] != batch.exits[subsequence - 1];
}

/// Decodes on from a seam between thread blocks until the states agree again, at most to the next
/// seam, where another thread is at work.
__device__ void repair_chain(const BatchView& batch, const SharedTables& tables,
                             PhasePattern pattern, std::uint32_t seam, std::uint32_t limit) {
  for (std::uint32_t s = seam; s < limit && disagrees(batch, s); ++s) {
    const std::uint32_t start = batch.exits[s - 1];
    const SkipResult result = decode(batch, tables, pattern, s, length_of(batch, s), start);
    batch.entries[s] = start;
    batch.exits[s] = result.state;
    batch.blocks[s] = result.blocks;
  }
}

constexpr int kChainThreads = 64;

__global__ void __launch_bounds__(kChainThreads)
    repair_chains_kernel(BatchView batch, const TablePair* pairs) {
  extern __shared__ uint4 dynamic[];
  const ScanDesc& scan = batch.scans[blockIdx.x];
  const std::uint32_t seams = (scan.subsequence_slots - 1) / kSyncThreads;
  const PhasePattern pattern{scan.slots, scan.period};
  SharedTables tables{};
  bool loaded = false;
  for (std::uint32_t done = 0; done < seams; done += kChainThreads) {
    const std::uint32_t local = (done + threadIdx.x + 1) * kSyncThreads;
    const std::uint32_t seam = scan.first_subsequence + local;
    const bool wrong = done + threadIdx.x < seams && disagrees(batch, seam);
    if (__syncthreads_or(wrong ? 1 : 0) == 0) continue;
    if (!loaded) tables = load_tables(scan, pairs, reinterpret_cast<std::uint32_t*>(dynamic));
    loaded = true;
    __syncthreads();
    const std::uint32_t reach = min(scan.subsequence_slots - local,
                                    static_cast<std::uint32_t>(min(kSyncThreads, kChainLength)));
    if (wrong) repair_chain(batch, tables, pattern, seam, seam + reach);
  }
}

/// Blocks completed since the segment began.
struct SegmentSum {
  std::uint32_t blocks;
  std::uint32_t restarted;
};
struct AddWithinSegment {
  __device__ SegmentSum operator()(const SegmentSum& a, const SegmentSum& b) const {
    return {b.restarted != 0 ? b.blocks : a.blocks + b.blocks, a.restarted | b.restarted};
  }
};

__global__ void __launch_bounds__(kImageThreads) offsets_kernel(BatchView batch) {
  using Scan = cub::BlockScan<SegmentSum, kImageThreads>;
  __shared__ typename Scan::TempStorage storage;
  const ScanDesc& scan = batch.scans[blockIdx.x];
  SegmentSum before{0, 0};
  std::uint32_t faults = 0;
  for (std::uint32_t tile = 0; tile < scan.subsequence_slots; tile += kImageThreads) {
    const std::uint32_t local = tile + threadIdx.x;
    const std::uint32_t s = scan.first_subsequence + local;
    const bool inside = local < scan.subsequence_slots;
    const std::uint32_t length = inside ? length_of(batch, s) : 0;
    const bool first = inside && is_first(batch, s);
    if (inside && disagrees(batch, s)) faults |= kNeverSynchronised;
    const SegmentSum own{length != 0 ? batch.blocks[s] : 0, first ? 1u : 0u};
    SegmentSum sum{};
    SegmentSum total{};
    Scan(storage).InclusiveScan(own, sum, AddWithinSegment(), total);
    sum = AddWithinSegment()(before, sum);
    before = AddWithinSegment()(before, total);
    if (length != 0 || first) {
      const std::uint32_t segment = scan.has_restarts != 0 ? batch.segment_of[s] : 0;
      const std::uint32_t start = segment * scan.segment_blocks;
      const std::uint32_t quota = min(scan.segment_blocks, scan.total_blocks - start);
      batch.blocks[s] = start + sum.blocks - own.blocks;
      const bool last = local + 1 == scan.subsequence_slots || is_first(batch, s + 1) ||
                        length_of(batch, s + 1) == 0;
      if (last && sum.blocks < quota) faults |= kTruncated;
    }
    __syncthreads();
  }
  if (before.restarted == 0) faults |= kTruncated;  // no data at all
  if (faults != 0) atomicOr(&batch.status[scan.image], faults);
}

}  // namespace

void launch_build_tables(const CanonicalCode* codes, TablePair* pairs, std::uint32_t pair_count,
                         cudaStream_t stream) {
  build_tables_kernel<<<pair_count, kBuildThreads, 0, stream>>>(codes, pairs);
}

void launch_synchronise(const BatchView& batch, const Tile* tiles, std::uint32_t tile_count,
                        const TablePair* pairs, std::uint32_t most_pairs, cudaStream_t stream) {
  cudaFuncSetAttribute(synchronise_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(table_bytes(4)));
  synchronise_kernel<<<tile_count, kSyncThreads, table_bytes(most_pairs), stream>>>(batch, tiles,
                                                                                    pairs);
}

void launch_repair_chains(const BatchView& batch, const TablePair* pairs, std::uint32_t most_pairs,
                          cudaStream_t stream) {
  cudaFuncSetAttribute(repair_chains_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(table_bytes(4)));
  repair_chains_kernel<<<batch.scan_count, kChainThreads, table_bytes(most_pairs), stream>>>(batch,
                                                                                             pairs);
}

void launch_offsets(const BatchView& batch, cudaStream_t stream) {
  offsets_kernel<<<batch.scan_count, kImageThreads, 0, stream>>>(batch);
}

}  // namespace framewire::codec::cuda
