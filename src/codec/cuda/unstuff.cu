// Idea: see unstuffer.hpp; one thread a subsequence, so that its bytes are walked in order and a
// warp stores its 32 columns word by word, side by side.
#include <codec/cuda/columns.hpp>
#include <codec/cuda/unstuff.hpp>
#include <codec/cuda/unstuffer.hpp>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

struct ColumnStore {
  std::uint32_t* words;
  __device__ void operator()(std::uint32_t index, std::uint32_t word) const {
    words[index * 32] = word;
  }
};

constexpr int kMarkerBytes = 16;

/// Of 16 bytes from `at`, a multiple of 16: bit i for a restart marker that begins there; `other`
/// gets the first marker of any other kind.
__device__ std::uint32_t find_restarts(const std::uint8_t* data, std::uint32_t at,
                                       std::uint32_t end, std::uint32_t& other) {
  if (at >= end) return 0;
  const Quad quad = load_quad(data + at);
  std::uint32_t found = 0;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if (!has_escape(quad.words[w])) continue;
    const std::uint32_t after = w < 3 ? quad.words[w + 1] : data[at + kMarkerBytes];
#pragma unroll
    for (std::uint32_t b = 0; b < 4; ++b) {
      const std::uint32_t i = static_cast<std::uint32_t>(w) * 4 + b;
      const std::uint32_t byte = (b < 3 ? quad.words[w] >> (8 * b + 8) : after) & 0xFF;
      if ((quad.words[w] >> (8 * b) & 0xFF) != 0xFF || byte == 0 || at + i + 1 >= end) continue;
      if (byte >= 0xD0 && byte <= 0xD7) {
        found |= 1u << i;
      } else {
        other = min(other, at + i);
      }
    }
  }
  return found;
}

/// Lists the segments of one scan by where they start; returns their number.
__device__ std::uint32_t list_segments(const BatchView& batch, const ScanDesc& scan,
                                       std::uint32_t scan_index) {
  using Scan = cub::BlockScan<std::uint32_t, kImageThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ std::uint32_t end;
  const std::uint8_t* data = batch.base + scan.data;
  std::uint32_t* starts = batch.segment_start + scan.first_segment;
  if (threadIdx.x == 0) {
    end = scan.data_bytes;
    starts[0] = 0;
  }
  __syncthreads();
  std::uint32_t segments = 1;
  for (std::uint32_t tile = 0;; tile += kImageThreads * kMarkerBytes) {
    const std::uint32_t limit = end;
    __syncthreads();  // before anybody lowers it again
    if (tile >= limit) break;
    const std::uint32_t at = tile + threadIdx.x * kMarkerBytes;
    std::uint32_t other = 0xFFFFFFFFu;
    std::uint32_t found = find_restarts(data, at, scan.data_bytes, other);
    if (other != 0xFFFFFFFFu) atomicMin(&end, other);
    __syncthreads();
    while (found != 0 && at + (31 - __clz(static_cast<int>(found))) >= end)
      found &= ~(1u << (31 - __clz(static_cast<int>(found))));
    std::uint32_t rank = 0;
    std::uint32_t total = 0;
    Scan(storage).ExclusiveSum(static_cast<std::uint32_t>(__popc(found)), rank, total);
    for (; found != 0; found &= found - 1) {
      const std::uint32_t position =
          at + static_cast<std::uint32_t>(__ffs(static_cast<int>(found)) - 1);
      const std::uint32_t segment = segments + rank++;
      const bool in_order = data[position + 1] == 0xD0 + ((segment - 1) & 7);
      if (segment < scan.segment_count && in_order) {
        starts[segment] = position + 2;
      } else {
        atomicOr(&batch.status[scan.image], kExtraneous);
      }
    }
    segments += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    batch.scan_end[scan_index] = end;
    if (segments < scan.segment_count) atomicOr(&batch.status[scan.image], kTruncated);
    if (segments == scan.segment_count) starts[segments] = end + 2;
  }
  __syncthreads();
  return segments;
}

__global__ void __launch_bounds__(kImageThreads) find_markers_kernel(BatchView batch) {
  gpu::await_earlier();
  using Scan = cub::BlockScan<std::uint32_t, kImageThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  const ScanDesc& scan = batch.scans[blockIdx.x];
  if (scan.has_restarts == 0) return;
  const std::uint32_t size = batch.layout.subsequence_bytes;
  const std::uint32_t segments = list_segments(batch, scan, blockIdx.x);
  const bool usable = batch.status[scan.image] == 0 && segments == scan.segment_count;
  const std::uint32_t* starts = batch.segment_start + scan.first_segment;
  std::uint32_t* first = batch.segment_first + scan.first_segment;
  std::uint32_t base = 0;
  for (std::uint32_t tile = 0; tile < scan.segment_count; tile += kImageThreads) {
    const std::uint32_t segment = tile + threadIdx.x;
    std::uint32_t count = 0;
    if (usable && segment < segments) {
      const std::uint32_t bytes = starts[segment + 1] - 2 - starts[segment];
      count = max(1u, (bytes + size - 1) / size);
    }
    std::uint32_t before = 0;
    std::uint32_t total = 0;
    Scan(storage).ExclusiveSum(count, before, total);
    if (segment < scan.segment_count) first[segment] = base + before;
    base += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) first[scan.segment_count] = base;
}

/// The segment that holds a subsequence, by bisection.
__device__ std::uint32_t find_segment(const std::uint32_t* first, std::uint32_t count,
                                      std::uint32_t subsequence) {
  std::uint32_t low = 0;
  std::uint32_t high = count;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (first[middle] <= subsequence ? low : high) = middle;
  }
  return low;
}

__device__ std::uint32_t unstuff_restart(const BatchView& batch, const ScanDesc& scan,
                                         std::uint32_t local, const ColumnStore& store) {
  const std::uint32_t* first = batch.segment_first + scan.first_segment;
  if (batch.status[scan.image] != 0 || local >= first[scan.segment_count]) return 0;
  const std::uint32_t segment = find_segment(first, scan.segment_count, local);
  const std::uint32_t* starts = batch.segment_start + scan.first_segment;
  const std::uint32_t size = batch.layout.subsequence_bytes;
  const std::uint32_t begin = starts[segment] + (local - first[segment]) * size;
  const std::uint32_t end = starts[segment + 1] - 2;
  const bool leads = local == first[segment];
  const UnstuffResult result = unstuff(batch.base + scan.data, begin, min(begin + size, end), end,
                                       column_words(size), leads, store);
  if (result.marker != kNoMarker) atomicOr(&batch.status[scan.image], kExtraneous);
  batch.segment_of[scan.first_subsequence + local] = segment;
  return result.bytes * 8 | (leads ? kFirstOfSegment : 0);
}

__global__ void __launch_bounds__(kSpanThreads) unstuff_kernel(BatchView batch, const Tile* tiles) {
  gpu::await_earlier();
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const std::uint32_t local = tile.part * kSpanThreads + threadIdx.x;
  if (local >= scan.subsequence_slots) return;
  const std::uint32_t subsequence = scan.first_subsequence + local;
  const ColumnStore store{batch.columns + column_offset(batch, subsequence)};
  const std::uint32_t size = batch.layout.subsequence_bytes;
  std::uint32_t length = 0;
  if (scan.has_restarts != 0) {
    length = unstuff_restart(batch, scan, local, store);
  } else if (local * size < scan.data_bytes) {
    const std::uint32_t begin = local * size;
    const UnstuffResult result =
        unstuff(batch.base + scan.data, begin, min(begin + size, scan.data_bytes), scan.data_bytes,
                column_words(size), local == 0, store);
    if (result.marker != kNoMarker) atomicMin(&batch.scan_end[tile.owner], result.marker);
    length = result.bytes * 8 | (local == 0 ? kFirstOfSegment : 0);
  }
  batch.lengths[subsequence] = length;
}

}  // namespace

void launch_find_markers(const BatchView& batch, cudaStream_t stream) {
  gpu::launch(find_markers_kernel, batch.scan_count, kImageThreads, 0, stream, batch);
}

void launch_unstuff(const BatchView& batch, const Tile* tiles, std::uint32_t tile_count,
                    cudaStream_t stream) {
  gpu::launch(unstuff_kernel, tile_count, kSpanThreads, 0, stream, batch, tiles);
}

}  // namespace framewire::codec::cuda
