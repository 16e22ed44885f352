// Idea: each thread decodes the last bits of its predecessors first (warm-up), so that it mostly
// knows the true state at the start of its own subsequence, and then decodes that. Where the start
// differs from the predecessor's exit, the subsequence is decoded again; threads pack such
// subsequences into few warps, round after round. A segment of one subsequence needs none of it:
// its start is known, and the kernel that writes its coefficients counts its blocks.
//
// Source: see span_decoder.hpp.
//
// Measured (H100, 373 KB images, batch of 512: 3.0 µs an image): warm-up of 512, 1,024 or 2,048
// bits costs the same, since more warm-up needs less repair. 512 threads with 2 subsequences each
// are faster alone (2.9 µs; one image 350 instead of 550 µs), but 256 threads with 4 each leave
// more to other streams: 87,000 to 89,000 images/s on 16 to 20 streams instead of 83,000 to 85,000.
// 256 threads with 2 each instead of 4, in batches of 32 MB (H200, 24 lanes, two turns; images/s):
// 120,600 to 120,900 instead of 116,900 to 120,400, of 4:4:4 91,400 to 92,100 instead of 90,300 to
// 90,700, of 1280×720 231,700 to 236,600 instead of 218,100 to 218,300.
// With a restart marker in each MCU, leaving lone subsequences out takes 0.12 instead of 2.08 µs.
// One image alone (H200, 64-byte subsequences, one a thread; median over 12 images from bytes to
// bytes):
//   bits of warm-up     1,024   2,048   3,072   4,096   8,192
//   µs                    508     517     479     481     553
// Four subsequences a thread take 740 µs, 256-byte ones 1,062 µs.
//
// A cursor that lookups are added to, and words that nobody waits for, brought it from 2.97 to 2.57
// µs, pairs of words to 2.50 (H200, batch of 512, one run). Of the rest a third is waiting for
// words and a third for other warps of the block at barriers between rounds (ncu).
//
// Tried and rejected: one subsequence a thread in large batches, 3.7 µs, as repair leaves most
// warps waiting; codes beyond the lookup tables by walking their lengths in global memory, 3.05
// instead of 2.65 µs; for one image alone, following every phase and linking what agrees by a scan,
// which left 48 of 230 µs to repair but took 157 and 154 µs itself (candidate_states.cu has the
// cheaper form that is used).
#include <codec/cuda/tuning.h>
#include <codec/cuda/decode/speculation.hpp>
#include <codec/cuda/decode/synchronise.hpp>
#include <codec/cuda/decode/tile_scan.hpp>
#include <cub/block/block_scan.cuh>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

/// Builds a pair's tables. Several thread blocks a pair, because with one image in the batch all
/// wait for them.
__global__ void __launch_bounds__(kBuildThreads)
    build_tables_kernel(const CanonicalCode* codes, TablePair* pairs) {
  gpu::grid_dependency_sync();
  __shared__ CanonicalCode code[2];
  TablePair& pair = pairs[blockIdx.y];
  const auto* from = reinterpret_cast<const std::uint32_t*>(codes + blockIdx.y * 2);
  for (std::uint32_t i = threadIdx.x; i < sizeof code / 4; i += kBuildThreads) {
    reinterpret_cast<std::uint32_t*>(code)[i] = from[i];
  }
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x < 2) pair.code[threadIdx.x] = code[threadIdx.x];
  const std::uint32_t first = blockIdx.x * kBuildThreads + threadIdx.x;
  for (std::uint32_t i = first; i < 2 * kLongEntries; i += kBuildThreads * kBuildBlocks) {
    pair.longs[i / kLongEntries][i % kLongEntries] =
        build_long(code[i / kLongEntries], i < kLongEntries, i % kLongEntries);
  }
  for (std::uint32_t i = first; i < 2 * kTableEntries; i += kBuildThreads * kBuildBlocks) {
    const bool dc = i < kTableEntries;
    pair.entries[dc ? 0 : 1][i % kTableEntries] =
        build_entry(code[0], code[1], dc, i % kTableEntries);
  }
  for (std::uint32_t i = first; i < 2 * kStepEntries; i += kBuildThreads * kBuildBlocks) {
    const bool dc = i < kStepEntries;
    pair.steps[dc ? 0 : 1][i % kStepEntries] = build_step(code[0], code[1], dc, i % kStepEntries);
  }
}

/// States of the subsequences of one thread block.
template <int kShare>
struct Shared {
  std::uint16_t entry[kShare * kSyncThreads];
  std::uint16_t exit[kShare * kSyncThreads];
  std::uint16_t blocks[kShare * kSyncThreads];
  std::uint16_t list[kShare * kSyncThreads];
  std::uint32_t count;
};
static_assert(kMaxSubsequenceBytes * 8 / 2 <= 65535, "blocks of at least 2 bits are counted in 16");

/// Adds `item` to the list where `wanted` holds; all threads of a warp call it together.
template <int kShare>
__device__ void append(Shared<kShare>& shared, bool wanted, std::uint32_t item) {
  const std::uint32_t votes = __ballot_sync(0xFFFFFFFFu, wanted);
  if (votes == 0) return;
  const std::uint32_t lane = threadIdx.x & 31;
  std::uint32_t base = 0;
  if (lane == 0) base = atomicAdd(&shared.count, static_cast<std::uint32_t>(__popc(votes)));
  base = __shfl_sync(0xFFFFFFFFu, base, 0);
  if (wanted) {
    shared.list[base + __popc(votes & ((1u << lane) - 1))] = static_cast<std::uint16_t>(item);
  }
}

/// The part of a scan that one thread block synchronises.
struct SyncSpan {
  std::uint32_t first;   ///< subsequence, over the whole batch
  std::uint32_t count;   ///< reserved slots
  std::uint32_t active;  ///< of them, those that begin before the scan's end
};

__device__ SyncSpan span_of_tile(const DecodeView& batch, const ScanDesc& scan, const Tile& tile) {
  const std::uint32_t most = batch.layout.sync_share * kSyncThreads;
  const std::uint32_t local = tile.part * most;
  const std::uint32_t all = active_subsequences(batch, scan, tile.owner);
  const std::uint32_t count = min(most, scan.subsequence_slots - local);
  return {scan.first_subsequence + local, count, all > local ? min(count, all - local) : 0};
}

/// Lists the subsequences whose start is not where their predecessor ended.
template <int kShare>
__device__ void list_wrong(const DecodeView& batch, const SyncSpan& span, Shared<kShare>& shared) {
  if (threadIdx.x == 0) shared.count = 0;
  __syncthreads();
  for (std::uint32_t base = 0; base < span.active; base += kSyncThreads) {
    const std::uint32_t i = base + threadIdx.x;
    const bool wrong = i > 0 && i < span.active && shared.entry[i] != shared.exit[i - 1] &&
                       length_of(batch, span.first + i) != 0 && !is_first(batch, span.first + i);
    append(shared, wrong, i);
  }
  __syncthreads();
}

/// Decodes the listed subsequences again, from where their predecessors ended.
template <int kShare>
__device__ void repair_listed(const DecodeView& batch, const SharedTables& tables,
                              PhasePattern pattern, const SyncSpan& span, Shared<kShare>& shared) {
  SkipResult again[kShare];
  std::uint32_t start[kShare];
#pragma unroll
  for (int k = 0; k < kShare; ++k) {
    const std::uint32_t n = k * kSyncThreads + threadIdx.x;
    if (n >= shared.count) break;
    const std::uint32_t i = shared.list[n];
    start[k] = shared.exit[i - 1];
    again[k] =
        decode(batch, tables, pattern, span.first + i, length_of(batch, span.first + i), start[k]);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kShare; ++k) {
    const std::uint32_t n = k * kSyncThreads + threadIdx.x;
    if (n >= shared.count) break;
    const std::uint32_t i = shared.list[n];
    shared.entry[i] = static_cast<std::uint16_t>(start[k]);
    shared.exit[i] = static_cast<std::uint16_t>(again[k].state);
    shared.blocks[i] = static_cast<std::uint16_t>(again[k].blocks);
  }
  __syncthreads();
}

/// Whether every segment here is one subsequence, so that nothing is to be synchronised.
__device__ bool all_lone(const DecodeView& batch, const ScanDesc& scan, const SyncSpan& span) {
  if (scan.has_restarts == 0) return false;
  bool alone = true;
  for (std::uint32_t i = threadIdx.x; i < span.active; i += kSyncThreads) {
    const std::uint32_t s = span.first + i;
    alone = alone && (length_of(batch, s) == 0 || is_lone(batch, scan, s - scan.first_subsequence));
  }
  if (__syncthreads_and(alone ? 1 : 0) == 0) return false;
  for (std::uint32_t i = threadIdx.x; i < span.active; i += kSyncThreads) {
    batch.entries[span.first + i] = 0;
    batch.blocks[span.first + i] = 0;
  }
  return true;
}

template <int kShare>
__global__ void __launch_bounds__(kSyncThreads, kSyncBlocks)
    synchronise_kernel(DecodeView batch, const Tile* tiles, const TablePair* pairs) {
  gpu::grid_dependency_sync();
  auto* dynamic = gpu::dynamic_shared<uint4>();
  __shared__ Shared<kShare> shared;
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const SyncSpan span = span_of_tile(batch, scan, tile);
  for (std::uint32_t i = span.active + threadIdx.x; i < span.count; i += kSyncThreads) {
    batch.lengths[span.first + i] = 0;
  }
  if (span.active == 0 || all_lone(batch, scan, span)) return;
  const SharedTables tables = load_tables(scan, pairs, reinterpret_cast<std::uint32_t*>(dynamic));
  const PhasePattern pattern{scan.block_tables, scan.period};
  __syncthreads();

  for (std::uint32_t i = threadIdx.x; i < span.active; i += kSyncThreads) {
    const std::uint32_t s = span.first + i;
    if (batch.layout.enumerates != 0) {
      shared.entry[i] = static_cast<std::uint16_t>(batch.entries[s]);
      shared.exit[i] = static_cast<std::uint16_t>(batch.exits[s]);
      shared.blocks[i] = static_cast<std::uint16_t>(batch.blocks[s]);
      continue;
    }
    const std::uint32_t length = length_of(batch, s);
    const std::uint32_t entry =
        length != 0 && !is_first(batch, s) ? speculate_entry(batch, tables, pattern, s, 0) : 0;
    const SkipResult own = decode(batch, tables, pattern, s, length, entry);
    shared.entry[i] = static_cast<std::uint16_t>(entry);
    shared.exit[i] = static_cast<std::uint16_t>(own.state);
    shared.blocks[i] = static_cast<std::uint16_t>(own.blocks);
  }
  const std::uint32_t rounds =
      repair_steps(batch.layout.sync_rounds, batch.layout.subsequence_bytes);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    __syncthreads();
    list_wrong(batch, span, shared);
    if (shared.count == 0) break;
    repair_listed(batch, tables, pattern, span, shared);
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < span.active; i += kSyncThreads) {
    batch.entries[span.first + i] = shared.entry[i];
    batch.exits[span.first + i] = shared.exit[i];
    batch.blocks[span.first + i] = shared.blocks[i];
  }
}

/// Whether a subsequence was decoded from another state than its predecessor left.
__device__ bool disagrees(const DecodeView& batch, std::uint32_t subsequence) {
  return length_of(batch, subsequence) != 0 && !is_first(batch, subsequence) &&
         batch.entries[subsequence] != batch.exits[subsequence - 1];
}

/// Decodes on from a seam between thread blocks until states agree again; at most to the next seam,
/// where another thread is at work.
__device__ void repair_chain(const DecodeView& batch, const SharedTables& tables,
                             PhasePattern pattern, std::uint32_t seam, std::uint32_t limit) {
  for (std::uint32_t s = seam; s < limit && disagrees(batch, s); ++s) {
    const std::uint32_t start = batch.exits[s - 1];
    const SkipResult result = decode(batch, tables, pattern, s, length_of(batch, s), start);
    batch.entries[s] = start;
    batch.exits[s] = result.state;
    batch.blocks[s] = result.blocks;
  }
}

/// One round of repair at all seams of a scan. Loads the tables when they are first needed. @return
/// whether they are loaded
__device__ bool repair_seams(const DecodeView& batch, const ScanDesc& scan, const TablePair* pairs,
                             SharedTables& tables, bool loaded) {
  const std::uint32_t span = batch.layout.sync_share * kSyncThreads;
  const std::uint32_t seams = (scan.subsequence_slots - 1) / span;
  const std::uint32_t chain =
      repair_steps(batch.layout.chain_length, batch.layout.subsequence_bytes);
  const PhasePattern pattern{scan.block_tables, scan.period};
  for (std::uint32_t done = 0; done < seams; done += kSeamThreads) {
    const std::uint32_t local = (done + threadIdx.x + 1) * span;
    const std::uint32_t seam = scan.first_subsequence + local;
    const bool wrong = done + threadIdx.x < seams && disagrees(batch, seam);
    if (__syncthreads_or(wrong ? 1 : 0) == 0) continue;
    if (!loaded) tables = load_tables(scan, pairs, gpu::dynamic_shared<std::uint32_t>());
    loaded = true;
    __syncthreads();
    const std::uint32_t reach = min(scan.subsequence_slots - local, min(span, chain));
    if (wrong) repair_chain(batch, tables, pattern, seam, seam + reach);
    __syncthreads();  // the next round reads what this one has written
  }
  return loaded;
}

__global__ void __launch_bounds__(kSeamThreads)
    repair_chains_kernel(DecodeView batch, const TablePair* pairs) {
  gpu::grid_dependency_sync();
  SharedTables tables{};
  bool loaded = false;
  for (std::uint32_t round = 0; round == 0 || (loaded && round < batch.layout.chain_rounds);
       ++round) {
    loaded = repair_seams(batch, batch.scans[blockIdx.x], pairs, tables, loaded);
  }
}

struct AddWithinSegment {
  __device__ SegmentSum operator()(const SegmentSum& a, const SegmentSum& b) const {
    return {b.restarted != 0 ? b.blocks : a.blocks + b.blocks, a.restarted | b.restarted};
  }
};

__device__ bool is_fill_or_restart(std::uint32_t code) {
  return code == 0xFF || (code >= 0xD0 && code <= 0xD7);
}

/// Whether nothing but fill bytes and restart markers lies between a marker behind a scan's last
/// block and the marker that ends the scan.
__device__ bool ends_behind_fill(const ScanDesc& scan, std::uint32_t at) {
  constexpr int kMaxFill = 64;  // for one thread to pass over; the host takes files with more
  for (int i = 0; i < kMaxFill; ++i) {
    if (at == scan.data_bytes || scan.data[at] != 0xFF) break;
    if (at + 1 == scan.data_bytes) return scan.marker_follows != 0;
    const std::uint32_t code = scan.data[at + 1];
    if (!is_fill_or_restart(code)) return code == 0xD9;
    at += code == 0xFF ? 1 : 2;
  }
  return at == scan.data_bytes && scan.marker_follows != 0;
}

/// Judges the place where a scan's data ends. Where no marker follows, libjpeg would ask for more
/// bytes than the last block has, and warn.
__device__ std::uint32_t judge_scan_end(const DecodeView& batch, const ScanDesc& scan,
                                        std::uint32_t end, bool short_of_blocks) {
  const bool marker = end < scan.data_bytes && end + 1 < scan.data_bytes;
  if (!marker) return scan.marker_follows != 0 ? 0 : kTruncated;
  const std::uint32_t code = scan.data[end + 1];
  if (code == 0xFF && short_of_blocks) return kFillBytes;
  const bool eoi = code == 0xD9 && end + 2 == scan.data_bytes;
  if (scan.ends_file != 0 && !eoi) return kAfterScan;
  // The host reads all of a file that has another marker here, or data behind it, and says what it
  // means. Behind a part nobody looks at data.
  const bool harmless = scan.end_block < scan.total_blocks
                            ? is_fill_or_restart(code) || code == 0xD9
                            : ends_behind_fill(scan, end);
  return harmless ? 0 : kAfterScan;
}

/// Turns the block counts of a thread's subsequences into first blocks. @return status bits
__device__ std::uint32_t place_blocks(const DecodeView& batch, const ScanDesc& scan,
                                      std::uint32_t local, std::uint32_t items, SegmentSum before) {
  std::uint32_t faults = 0;
  for (std::uint32_t i = local; i < local + items && i < scan.subsequence_slots; ++i) {
    const std::uint32_t s = scan.first_subsequence + i;
    const std::uint32_t length = length_of(batch, s);
    const bool first = is_first(batch, s);
    if (disagrees(batch, s)) faults |= kNeverSynchronised;
    if (length == 0 && !first) continue;
    const std::uint32_t segment = scan.has_restarts != 0 ? batch.segment_of[s] : 0;
    const std::uint32_t start = segment * scan.segment_blocks;
    const std::uint32_t needed =
        start < scan.end_block ? min(scan.segment_blocks, scan.end_block - start) : 0;
    const std::uint32_t own = length != 0 ? batch.blocks[s] : 0;
    const std::uint32_t earlier = first ? 0 : before.blocks;
    batch.blocks[s] = start + earlier;
    before = {earlier + own, 1};
    const bool last =
        i + 1 == scan.subsequence_slots || is_first(batch, s + 1) || length_of(batch, s + 1) == 0;
    // Blocks of a lone subsequence are counted by the kernel that writes their coefficients.
    if (last && before.blocks < needed && !is_lone(batch, scan, i)) faults |= kTruncated;
  }
  return faults;
}

__device__ SegmentSum count_blocks(const DecodeView& batch, const ScanDesc& scan,
                                   std::uint32_t local) {
  if (local >= scan.subsequence_slots) return {0, 0};
  const std::uint32_t s = scan.first_subsequence + local;
  return {length_of(batch, s) != 0 ? batch.blocks[s] : 0, is_first(batch, s) ? 1u : 0u};
}

__global__ void __launch_bounds__(kImageThreads) offsets_kernel(DecodeView batch) {
  gpu::grid_dependency_sync();
  using Scan = cub::BlockScan<SegmentSum, kImageThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  const ScanDesc& scan = batch.scans[blockIdx.x];
  SegmentSum before{0, 0};
  std::uint32_t faults = 0;
  for (std::uint32_t tile = 0; tile < scan.subsequence_slots;
       tile += kImageThreads * kOffsetItems) {
    const std::uint32_t local = tile + threadIdx.x * kOffsetItems;
    SegmentSum own{0, 0};
#pragma unroll
    for (std::uint32_t i = 0; i < kOffsetItems; ++i) {
      own = AddWithinSegment()(own, count_blocks(batch, scan, local + i));
    }
    SegmentSum sum{};
    SegmentSum total{};
    Scan(storage).ExclusiveScan(own, sum, SegmentSum{0, 0}, AddWithinSegment(), total);
    faults |= place_blocks(batch, scan, local, kOffsetItems, AddWithinSegment()(before, sum));
    before = AddWithinSegment()(before, total);
    __syncthreads();
  }
  if (before.restarted == 0) faults |= kTruncated;  // no segment begins: there is no data
  const bool is_short = __syncthreads_or(static_cast<int>(faults & kTruncated)) != 0;
  if (threadIdx.x == 0) faults |= judge_scan_end(batch, scan, batch.scan_end[blockIdx.x], is_short);
  if (faults != 0) atomicOr(&batch.status[scan.image], faults);
}

using TileScan = cub::BlockScan<SegmentSum, kSpanThreads, cub::BLOCK_SCAN_WARP_SCANS>;

/// First of three kernels for few scans, where a thread block a scan would have too many rounds:
/// the sum of each tile.
__global__ void __launch_bounds__(kSpanThreads)
    sum_blocks_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ typename TileScan::TempStorage storage;
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const std::uint32_t first = tile.part * kSpanThreads;
  SegmentSum unused{};
  SegmentSum total{};
  TileScan(storage).ExclusiveScan(count_blocks(batch, scan, first + threadIdx.x), unused,
                                  SegmentSum{0, 0}, AddWithinSegment(), total);
  if (threadIdx.x == 0) batch.tile_blocks[(scan.first_subsequence + first) / kSpanThreads] = total;
}

/// Second: each subsequence's first block.
__global__ void __launch_bounds__(kSpanThreads)
    place_blocks_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ typename TileScan::TempStorage storage;
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const SegmentSum before =
      sum_of_tiles<TileScan>(batch.tile_blocks + scan.first_subsequence / kSpanThreads, tile.part,
                             SegmentSum{0, 0}, AddWithinSegment(), storage);
  SegmentSum sum{};
  SegmentSum total{};
  const std::uint32_t local = tile.part * kSpanThreads + threadIdx.x;
  TileScan(storage).ExclusiveScan(count_blocks(batch, scan, local), sum, SegmentSum{0, 0},
                                  AddWithinSegment(), total);
  std::uint32_t faults = place_blocks(batch, scan, local, 1, AddWithinSegment()(before, sum));
  if (faults != 0) atomicOr(&batch.status[scan.image], faults);
}

/// Third: what shows only at the end of a scan.
__global__ void judge_ends_kernel(DecodeView batch) {
  gpu::grid_dependency_sync();
  const std::uint32_t index = blockIdx.x * kSpanThreads + threadIdx.x;
  if (index >= batch.scan_count) return;
  const ScanDesc& scan = batch.scans[index];
  const bool empty = scan.subsequence_slots == 0 || !is_first(batch, scan.first_subsequence);
  const bool is_short = empty || (batch.status[scan.image] & kTruncated) != 0;
  const std::uint32_t faults = (empty ? std::uint32_t{kTruncated} : 0) |
                               judge_scan_end(batch, scan, batch.scan_end[index], is_short);
  if (faults != 0) atomicOr(&batch.status[scan.image], faults);
}

}  // namespace

void launch_build_tables(const CanonicalCode* codes, TablePair* pairs, std::uint32_t pair_count,
                         cudaStream_t stream) {
  gpu::launch(build_tables_kernel, dim3(kBuildBlocks, pair_count), kBuildThreads, 0, stream, codes,
              pairs);
}

void launch_synchronise(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                        const TablePair* pairs, std::uint32_t max_pairs, cudaStream_t stream) {
  const auto kernel =
      batch.layout.sync_share == 1 ? synchronise_kernel<1> : synchronise_kernel<kSyncShare>;
  gpu::allow_shared(kernel, table_bytes(4));
  gpu::launch(kernel, tile_count, kSyncThreads, table_bytes(max_pairs), stream, batch, tiles,
              pairs);
}

void launch_repair_chains(const DecodeView& batch, const TablePair* pairs, std::uint32_t max_pairs,
                          cudaStream_t stream) {
  gpu::allow_shared(repair_chains_kernel, table_bytes(4));
  gpu::launch(repair_chains_kernel, batch.scan_count, kSeamThreads, table_bytes(max_pairs), stream,
              batch, pairs);
}

void launch_offsets(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                    cudaStream_t stream) {
  if (batch.layout.enumerates != 0) {
    gpu::launch(sum_blocks_kernel, tile_count, kSpanThreads, 0, stream, batch, tiles);
    gpu::launch(place_blocks_kernel, tile_count, kSpanThreads, 0, stream, batch, tiles);
    const std::uint32_t scans = (batch.scan_count + kSpanThreads - 1) / kSpanThreads;
    gpu::launch(judge_ends_kernel, scans, kSpanThreads, 0, stream, batch);
    return;
  }
  gpu::launch(offsets_kernel, batch.scan_count, kImageThreads, 0, stream, batch);
}

}  // namespace framewire::codec::cuda
