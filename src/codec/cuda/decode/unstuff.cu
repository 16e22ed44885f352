// Idea: see unstuffer.hpp. One thread a subsequence, so that bytes are walked in order, and a warp
// stores its 32 columns pair by pair, side by side.
// Restart markers are found first, in three kernels: count those of each tile, list where segments
// start, and give segments their subsequences.
#include <algorithm>
#include <codec/cuda/decode/columns.hpp>
#include <codec/cuda/decode/tile_scan.hpp>
#include <codec/cuda/decode/unstuff.hpp>
#include <codec/cuda/decode/unstuffer.hpp>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

struct ColumnStore {
  uint2* column;
  __device__ void operator()(std::uint32_t pair, std::uint32_t first, std::uint32_t second) const {
    column[pair * 32] = make_uint2(first, second);
  }
};

constexpr std::uint32_t kMarkerBytes = 16;

struct Plus {
  __device__ std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a + b; }
};

/// A tile of a scan's bytes. Positions count from the multiple of 16 at or before the scan's first
/// byte, so that a thread reads whole quads wherever the scan lies. What the kernels store counts
/// from the scan's first byte.
struct MarkerTile {
  const std::uint8_t* data;
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t lead;  ///< where the scan begins
  std::uint32_t scan_end;
};

/// Whether this thread block has a tile: the grid has as many rows as the batch's longest scan.
__device__ bool has_marker_tile(const ScanDesc& scan) {
  return scan.has_restarts != 0 &&
         blockIdx.y * kMarkerTileBytes < lead_bytes(scan) + scan.data_bytes;
}

__device__ MarkerTile marker_tile(const ScanDesc& scan) {
  const std::uint32_t lead = lead_bytes(scan);
  const std::uint32_t begin = blockIdx.y * kMarkerTileBytes;
  const std::uint32_t scan_end = lead + scan.data_bytes;
  return {scan.data - lead, begin, min(begin + kMarkerTileBytes, scan_end), lead, scan_end};
}

/// Finds markers among 16 bytes from `at`, a multiple of 16. @return bit i for a restart marker
/// that begins at byte i; `other` becomes the first marker of another kind, if that is lower
__device__ std::uint32_t find_restarts(const MarkerTile& tile, std::uint32_t at,
                                       std::uint32_t& other) {
  if (at >= tile.scan_end) return 0;
  const Quad quad = load_quad(tile.data + at);
  std::uint32_t found = 0;
  std::uint32_t others = 0;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const std::uint32_t escaped = escapes(quad.words[w]);
    if (escaped == 0) continue;
    std::uint32_t after = w < 3 ? quad.words[w + 1] : 0;
    if (w == 3 && escaped >> 31 != 0) after = tile.data[at + kMarkerBytes];
    const std::uint32_t next = quad.words[w] >> 8 | after << 24;
    const std::uint32_t kinds = (next ^ 0xD0D0D0D0u) & 0xF8F8F8F8u;  // 0 for RST0 to RST7
    const std::uint32_t markers = escaped & nonzero_bytes(next);
    found |= gather_bits(markers & ~nonzero_bytes(kinds)) << (4 * w);
    others |= gather_bits(markers & nonzero_bytes(kinds)) << (4 * w);
  }
  // Masks out bytes before the scan, and a 0xFF that is its last byte.
  std::uint32_t inside = 0xFFFF;
  if (at < tile.lead) inside &= 0xFFFFu << (tile.lead - at);
  if (at + kMarkerBytes >= tile.scan_end) inside &= (1u << (tile.scan_end - 1 - at)) - 1;
  others &= inside;
  if (others != 0) {
    other = min(other, at + static_cast<std::uint32_t>(__ffs(static_cast<int>(others)) - 1));
  }
  return found & inside;
}

constexpr std::uint32_t kMarkerStep = kImageThreads * kMarkerBytes;
static_assert(kMarkerTileBytes % kMarkerStep == 0);
using MarkerScan = cub::BlockScan<std::uint32_t, kImageThreads, cub::BLOCK_SCAN_WARP_SCANS>;

/// First: how many restart markers each tile has, and where a marker of another kind ends the scan.
__global__ void __launch_bounds__(kImageThreads) count_markers_kernel(DecodeView batch) {
  gpu::grid_dependency_sync();
  using Reduce = cub::BlockReduce<std::uint32_t, kImageThreads>;
  __shared__ typename Reduce::TempStorage storage;
  const ScanDesc& scan = batch.scans[blockIdx.x];
  if (!has_marker_tile(scan)) return;
  const MarkerTile tile = marker_tile(scan);
  std::uint32_t count = 0;
  std::uint32_t other = 0xFFFFFFFFu;
  for (std::uint32_t at = tile.begin + threadIdx.x * kMarkerBytes; at < tile.end;
       at += kMarkerStep) {
    count += static_cast<std::uint32_t>(__popc(find_restarts(tile, at, other)));
  }
  if (other != 0xFFFFFFFFu) atomicMin(&batch.scan_end[blockIdx.x], other - tile.lead);
  const std::uint32_t total = Reduce(storage).Sum(count);
  if (threadIdx.x == 0) scan.marker_counts[blockIdx.y] = total;
}

/// Second: where the segments behind the markers start. The tile in which the scan ends, and tiles
/// behind it, lower their counts here; thread blocks of this kernel read only counts of tiles
/// before their own, which stay.
__global__ void __launch_bounds__(kImageThreads) list_segments_kernel(DecodeView batch) {
  gpu::grid_dependency_sync();
  __shared__ typename MarkerScan::TempStorage storage;
  const ScanDesc& scan = batch.scans[blockIdx.x];
  if (!has_marker_tile(scan)) return;
  const MarkerTile tile = marker_tile(scan);
  const std::uint32_t end =
      min(min(batch.scan_end[blockIdx.x], scan.data_bytes) + tile.lead, tile.end);
  std::uint32_t* starts = scan.segment_start;
  const std::uint32_t before =
      tile.begin >= end
          ? 0
          : sum_of_tiles<MarkerScan>(scan.marker_counts, blockIdx.y, 0u, Plus(), storage);
  std::uint32_t listed = 0;
  for (std::uint32_t step = tile.begin; step < end; step += kMarkerStep) {
    const std::uint32_t at = step + threadIdx.x * kMarkerBytes;
    std::uint32_t other = 0;
    std::uint32_t found = find_restarts(tile, at, other);
    if (at < end && end - at < kMarkerBytes) found &= (1u << (end - at)) - 1;
    if (at >= end) found = 0;
    std::uint32_t rank = 0;
    std::uint32_t total = 0;
    MarkerScan(storage).ExclusiveSum(static_cast<std::uint32_t>(__popc(found)), rank, total);
    for (; found != 0; found &= found - 1) {
      const std::uint32_t position =
          at + static_cast<std::uint32_t>(__ffs(static_cast<int>(found)) - 1);
      const std::uint32_t segment = 1 + before + listed + rank++;
      const bool in_order = tile.data[position + 1] == 0xD0 + ((segment - 1) & 7);
      if (segment < scan.segment_count && in_order) {
        starts[segment] = position - tile.lead + 2;
      } else {
        atomicOr(&batch.status[scan.image], kExtraneous);
      }
    }
    listed += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) scan.marker_counts[blockIdx.y] = listed;
}

/// Third: which subsequences each segment has.
__global__ void __launch_bounds__(kImageThreads) place_segments_kernel(DecodeView batch) {
  gpu::grid_dependency_sync();
  __shared__ typename MarkerScan::TempStorage storage;
  const ScanDesc& scan = batch.scans[blockIdx.x];
  if (scan.has_restarts == 0) return;
  const std::uint32_t size = batch.layout.subsequence_bytes;
  const std::uint32_t tiles =
      (lead_bytes(scan) + scan.data_bytes + kMarkerTileBytes - 1) / kMarkerTileBytes;
  const std::uint32_t segments =
      1 + sum_of_tiles<MarkerScan>(scan.marker_counts, tiles, 0u, Plus(), storage);
  // Alike for all threads, though another scan of the image may set `status` meanwhile.
  const bool damaged = __syncthreads_or(batch.status[scan.image] != 0 ? 1 : 0) != 0;
  const bool usable = !damaged && segments == scan.segment_count;
  const std::uint32_t* starts = scan.segment_start;
  std::uint32_t* first = scan.segment_first;
  const std::uint32_t scan_end = min(batch.scan_end[blockIdx.x], scan.data_bytes);
  std::uint32_t base = 0;
  for (std::uint32_t tile = 0; tile < scan.segment_count; tile += kImageThreads) {
    const std::uint32_t segment = tile + threadIdx.x;
    std::uint32_t count = 0;
    if (usable && segment < segments) {
      const std::uint32_t begin = segment != 0 ? starts[segment] : 0;
      const std::uint32_t end = segment + 1 < segments ? starts[segment + 1] - 2 : scan_end;
      count = max(1u, (end - begin + size - 1) / size);
    }
    std::uint32_t before = 0;
    std::uint32_t total = 0;
    MarkerScan(storage).ExclusiveSum(count, before, total);
    if (segment < scan.segment_count) first[segment] = base + before;
    base += total;
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  first[scan.segment_count] = base;
  scan.segment_start[0] = 0;
  if (segments == scan.segment_count) scan.segment_start[segments] = scan_end + 2;
  if (segments < scan.segment_count) atomicOr(&batch.status[scan.image], kTruncated);
}

/// The segment that holds a subsequence: its own index if every earlier segment is one subsequence,
/// otherwise by bisection.
__device__ std::uint32_t find_segment(const std::uint32_t* first, std::uint32_t count,
                                      std::uint32_t subsequence) {
  if (subsequence < count && first[subsequence] == subsequence) return subsequence;
  std::uint32_t low = 0;
  std::uint32_t high = count;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (first[middle] <= subsequence ? low : high) = middle;
  }
  return low;
}

__device__ std::uint32_t unstuff_restart(const DecodeView& batch, const ScanDesc& scan,
                                         std::uint32_t local, const ColumnStore& store) {
  const std::uint32_t* first = scan.segment_first;
  // Segments that cannot be used have no subsequences. Not `status`, which other threads set while
  // this one looks: it would leave subsequences whose segment has no first one, and whoever looks
  // for that would leave the batch's memory.
  if (local >= first[scan.segment_count]) return 0;
  const std::uint32_t segment = find_segment(first, scan.segment_count, local);
  const std::uint32_t* starts = scan.segment_start;
  const std::uint32_t size = batch.layout.subsequence_bytes;
  const std::uint32_t begin = starts[segment] + (local - first[segment]) * size;
  const std::uint32_t end = starts[segment + 1] - 2;
  const bool leads = local == first[segment];
  const UnstuffResult result =
      unstuff(scan.data, begin, min(begin + size, end), end, column_words(size), leads, store);
  if (result.marker != kNoMarker) atomicOr(&batch.status[scan.image], kExtraneous);
  batch.segment_of[scan.first_subsequence + local] = segment;
  return result.bytes * 8 | (leads ? kFirstOfSegment : 0);
}

__global__ void __launch_bounds__(kSpanThreads)
    unstuff_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const std::uint32_t local = tile.part * kSpanThreads + threadIdx.x;
  if (local >= scan.subsequence_slots) return;
  const std::uint32_t subsequence = scan.first_subsequence + local;
  const ColumnStore store{column_of(batch, subsequence)};
  const std::uint32_t size = batch.layout.subsequence_bytes;
  std::uint32_t length = 0;
  if (scan.has_restarts != 0) {
    length = unstuff_restart(batch, scan, local, store);
  } else if (local * size < scan.data_bytes) {
    const std::uint32_t begin = local * size;
    const UnstuffResult result = unstuff(scan.data, begin, min(begin + size, scan.data_bytes),
                                         scan.data_bytes, column_words(size), local == 0, store);
    if (result.marker != kNoMarker) atomicMin(&batch.scan_end[tile.owner], result.marker);
    length = result.bytes * 8 | (local == 0 ? kFirstOfSegment : 0);
  }
  batch.lengths[subsequence] = length;
}

}  // namespace

void launch_find_markers(const DecodeView& batch, std::uint32_t max_tiles, cudaStream_t stream) {
  const dim3 tiles(batch.scan_count, std::max(1u, max_tiles));
  gpu::launch(count_markers_kernel, tiles, kImageThreads, 0, stream, batch);
  gpu::launch(list_segments_kernel, tiles, kImageThreads, 0, stream, batch);
  gpu::launch(place_segments_kernel, batch.scan_count, kImageThreads, 0, stream, batch);
}

void launch_unstuff(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                    cudaStream_t stream) {
  gpu::launch(unstuff_kernel, tile_count, kSpanThreads, 0, stream, batch, tiles);
}

}  // namespace framewire::codec::cuda
