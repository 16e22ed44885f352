// Idea: count, scan, write. Positions are bits within segments that begin at whole bytes; words
// that two blocks share are OR-ed atomically into zeroed memory, all others stored. Stuffing comes
// afterwards, as it depends on every byte before.
#include <codec/cuda/tuning.h>
#include <codec/cuda/block_coder.hpp>
#include <codec/cuda/encode_place.hpp>
#include <codec/cuda/entropy_encode.hpp>
#include <codec/cuda/size_search.hpp>
#include <codec/cuda/unstuffer.hpp>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

struct BitCounter {
  std::uint32_t bits = 0;
  __device__ void put(std::uint32_t /*code*/, std::uint32_t count) { bits += count; }
};

/// Stores bits from a position on; words are kept in stream order, first byte lowest.
struct BitStore {
  std::uint32_t* words;
  std::uint32_t word;
  std::uint32_t filled;  ///< bits of the current word, those of earlier blocks included
  bool shared;           ///< the current word began in another block
  std::uint64_t pending = 0;

  __device__ BitStore(std::uint32_t* out, std::uint32_t bit)
      : words(out), word(bit >> 5), filled(bit & 31), shared((bit & 31) != 0) {}
  __device__ void put(std::uint32_t code, std::uint32_t count) {
    pending = pending << count | code;
    filled += count;
    if (filled < 32) return;
    filled -= 32;
    const std::uint32_t full = swap_bytes(static_cast<std::uint32_t>(pending >> filled));
    if (shared) {
      atomicOr(words + word, full);
    } else {
      words[word] = full;
    }
    shared = false;
    ++word;
    pending &= (1ull << filled) - 1;
  }
  __device__ void finish() {
    if (filled == 0) return;
    atomicOr(words + word, swap_bytes(static_cast<std::uint32_t>(pending << (32 - filled))));
  }
};

/// Runs one block through a sink.
template <typename Sink>
__device__ void code_output_block(const BatchView& batch, const EncodeDesc& stream,
                                  std::uint32_t block, const std::uint32_t* codes, Sink& sink) {
  const EncodePlace place = place_output_block(stream, block);
  const std::uint32_t before = previous_block(stream, place, block);
  const std::uint64_t first = stream.first_block;
  const std::int16_t* levels = batch.levels + (first + block) * 64;
  const std::int32_t predicted = before == 0xFFFFFFFFu ? 0 : batch.levels[(first + before) * 64];
  code_block(levels, batch.masks[first + block], levels[0] - predicted,
             codes + stream.planes[place.plane].code * 512, sink);
}

__device__ void load_codes(const BatchView& batch, const EncodeDesc& stream, std::uint32_t* codes) {
  const auto* from = reinterpret_cast<const std::uint32_t*>(batch.base + stream.codes);
  for (std::uint32_t i = threadIdx.x; i < 1024; i += blockDim.x) codes[i] = from[i];
  __syncthreads();
}

__global__ void __launch_bounds__(kBlocksPerTile) count_kernel(BatchView batch, const Tile* tiles) {
  gpu::await_earlier();
  __shared__ std::uint32_t codes[1024];
  const Tile tile = tiles[blockIdx.x];
  const EncodeDesc& stream = batch.encodes[tile.owner];
  if (idle(batch, stream)) return;
  load_codes(batch, stream, codes);
  const std::uint32_t block = tile.part * kBlocksPerTile + threadIdx.x;
  if (block >= stream.total_blocks) return;
  BitCounter counter;
  code_output_block(batch, stream, block, codes, counter);
  batch.bit_counts[stream.first_block + block] = counter.bits;
}

/// Exclusive sums of bit counts over all blocks of a stream, in place; returns the total.
__device__ std::uint32_t sum_bits(std::uint32_t* counts, std::uint32_t total_blocks) {
  using Scan = cub::BlockScan<std::uint32_t, kImageThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  std::uint32_t base = 0;
  for (std::uint32_t tile = 0; tile < total_blocks; tile += kImageThreads) {
    const std::uint32_t block = tile + threadIdx.x;
    const std::uint32_t own = block < total_blocks ? counts[block] : 0;
    std::uint32_t before = 0;
    std::uint32_t total = 0;
    Scan(storage).ExclusiveSum(own, before, total);
    if (block < total_blocks) counts[block] = base + before;
    base += total;
    __syncthreads();
  }
  return base;
}

/// Byte offsets of all segments; returns the number of raw bytes.
__device__ std::uint32_t place_segments(const EncodeDesc& stream, const std::uint32_t* bits,
                                        std::uint32_t total_bits, std::uint32_t* offsets) {
  using Scan = cub::BlockScan<std::uint32_t, kImageThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  std::uint32_t base = 0;
  for (std::uint32_t tile = 0; tile < stream.segment_count; tile += kImageThreads) {
    const std::uint32_t segment = tile + threadIdx.x;
    std::uint32_t bytes = 0;
    if (segment < stream.segment_count) {
      const std::uint32_t begin = bits[segment * stream.segment_blocks];
      const std::uint32_t end = segment + 1 < stream.segment_count
                                    ? bits[(segment + 1) * stream.segment_blocks]
                                    : total_bits;
      bytes = (end - begin + 7) / 8;
    }
    std::uint32_t before = 0;
    std::uint32_t total = 0;
    Scan(storage).ExclusiveSum(bytes, before, total);
    if (segment < stream.segment_count) offsets[segment] = base + before;
    base += total;
    __syncthreads();
  }
  return base;
}

/// The bits that mark where a segment ends, behind the raw bytes; one a byte.
__device__ std::uint32_t* end_marks(const BatchView& batch, const EncodeDesc& stream) {
  return reinterpret_cast<std::uint32_t*>(batch.base + stream.raw + stream.raw_capacity_bytes);
}

/// The stream that a thread block works on. @param streams  which of all; null: every one
__device__ std::uint32_t stream_index(const std::uint32_t* streams) {
  return streams == nullptr ? blockIdx.x : streams[blockIdx.x];
}

__global__ void __launch_bounds__(kImageThreads)
    lay_out_kernel(BatchView batch, const std::uint32_t* streams) {
  gpu::await_earlier();
  const std::uint32_t index = stream_index(streams);
  const EncodeDesc& stream = batch.encodes[index];
  if (idle(batch, stream)) return;
  std::uint32_t* bits = batch.bit_counts + stream.first_block;
  std::uint32_t* offsets = batch.segment_bytes + stream.first_segment;
  const std::uint32_t total_bits = sum_bits(bits, stream.total_blocks);
  __syncthreads();
  const std::uint32_t raw_bytes = place_segments(stream, bits, total_bits, offsets);
  const bool fits = raw_bytes + 8 <= stream.raw_capacity_bytes;
  if (threadIdx.x == 0) {
    batch.records[index].bytes = fits ? raw_bytes : 0;
    if (!fits) atomicOr(&batch.status[stream.image], kTooLarge);
  }
  if (!fits) return;
  auto* raw = reinterpret_cast<std::uint32_t*>(batch.base + stream.raw);
  std::uint32_t* marks = end_marks(batch, stream);
  for (std::uint32_t i = threadIdx.x; i < raw_bytes / 4 + 2; i += kImageThreads) raw[i] = 0;
  for (std::uint32_t i = threadIdx.x; i < raw_bytes / 32 + 2; i += kImageThreads) marks[i] = 0;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x + 1; i < stream.segment_count; i += kImageThreads) {
    const std::uint32_t last = offsets[i] - 1;
    atomicOr(marks + last / 32, 1u << (last & 31));
  }
}

__global__ void __launch_bounds__(kBlocksPerTile) write_kernel(BatchView batch, const Tile* tiles) {
  gpu::await_earlier();
  __shared__ std::uint32_t codes[1024];
  const Tile tile = tiles[blockIdx.x];
  const EncodeDesc& stream = batch.encodes[tile.owner];
  if (idle(batch, stream)) return;
  load_codes(batch, stream, codes);
  const std::uint32_t block = tile.part * kBlocksPerTile + threadIdx.x;
  if (block >= stream.total_blocks) return;
  const std::uint32_t* bits = batch.bit_counts + stream.first_block;
  const std::uint32_t segment = block / stream.segment_blocks;
  const std::uint32_t start = batch.segment_bytes[stream.first_segment + segment] * 8 +
                              bits[block] - bits[segment * stream.segment_blocks];
  BitStore store(reinterpret_cast<std::uint32_t*>(batch.base + stream.raw), start);
  code_output_block(batch, stream, block, codes, store);
  const bool ends = block + 1 == stream.total_blocks || (block + 1) % stream.segment_blocks == 0;
  const std::uint32_t padding = (8 - (store.filled & 7)) & 7;
  if (ends && padding != 0) store.put((1u << padding) - 1, padding);
  store.finish();
}

/// What 8 raw bytes become: a count of inserted bytes (low half) and of segment ends (high half).
__device__ std::uint32_t count_inserted(const std::uint8_t* bytes, std::uint32_t count,
                                        std::uint32_t ends) {
  std::uint32_t inserted = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (bytes[i] == 0xFF) ++inserted;
    if (ends >> i & 1) inserted += 2 | 1u << 16;
  }
  return inserted;
}

__device__ void write_stuffed(std::uint8_t* out, const std::uint8_t* bytes, std::uint32_t count,
                              std::uint32_t ends, std::uint32_t segment) {
  for (std::uint32_t i = 0; i < count; ++i) {
    *out++ = bytes[i];
    if (bytes[i] == 0xFF) *out++ = 0;
    if (ends >> i & 1) {
      *out++ = 0xFF;
      *out++ = static_cast<std::uint8_t>(0xD0 + (segment++ & 7));
    }
  }
}

__device__ void copy_bytes(std::uint8_t* to, const std::uint8_t* from, std::uint32_t count) {
  for (std::uint32_t i = threadIdx.x; i < count; i += kImageThreads) to[i] = from[i];
}

/// Everything before the entropy-coded bytes, with the stream's own tables; returns its length.
__device__ std::uint32_t write_header(const BatchView& batch, const EncodeDesc& stream,
                                      std::uint8_t* out) {
  const std::uint8_t* header = batch.base + stream.header;
  const std::uint32_t front = stream.header_bytes - stream.tail_bytes;
  copy_bytes(out, header, front);
  std::uint32_t position = front;
  if (stream.optimal != 0) {
    const auto& own = *reinterpret_cast<const OptimalCodes*>(batch.base + stream.optimal);
    const std::uint32_t tables = stream.planes[stream.plane_count - 1].code * 2 + 2;
    for (std::uint32_t i = 0; i < tables; ++i) {
      copy_bytes(out + position, own.segments[i], own.segment_bytes[i]);
      position += own.segment_bytes[i];
    }
  }
  copy_bytes(out + position, header + front, stream.tail_bytes);
  if (stream.search == 0) return position + stream.tail_bytes;
  __syncthreads();
  const SizeSearch& search = batch.searches[stream.search - 1];
  const std::uint8_t* steps = batch.quality_quantisers + search.quality * 128;
  // Each DQT segment of one 8-bit table has 69 bytes, of which the last 64 are steps.
  for (std::uint32_t i = threadIdx.x; i < search.dqt_count * 64; i += kImageThreads)
    out[search.dqt + i / 64 * 69 + 5 + i % 64] = steps[i];
  return position + stream.tail_bytes;
}

__global__ void __launch_bounds__(kImageThreads)
    stuff_kernel(BatchView batch, const std::uint32_t* streams) {
  gpu::await_earlier();
  using Scan = cub::BlockScan<std::uint32_t, kImageThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  const std::uint32_t index = stream_index(streams);
  const EncodeDesc& stream = batch.encodes[index];
  if (search_done(batch, stream)) return;
  OutputRecord& record = batch.records[index];
  const std::uint32_t status = batch.status[stream.image];
  const std::uint32_t raw_bytes = status == 0 ? record.bytes : 0;
  const std::uint8_t* raw = batch.base + stream.raw;
  const auto* marks = reinterpret_cast<const std::uint8_t*>(end_marks(batch, stream));
  std::uint8_t* out = batch.base + stream.stuffed;
  std::uint32_t position = write_header(batch, stream, out);
  std::uint32_t segment = 0;
  bool fits = true;
  for (std::uint32_t tile = 0; tile < raw_bytes; tile += kImageThreads * 8) {
    const std::uint32_t at = tile + threadIdx.x * 8;
    const std::uint32_t count = at < raw_bytes ? min(8u, raw_bytes - at) : 0;
    union {
      uint2 words;
      std::uint8_t bytes[8];
    } chunk{};
    if (count != 0) chunk.words = *reinterpret_cast<const uint2*>(raw + at);
    const std::uint32_t ends = count != 0 ? marks[at / 8] : 0;
    std::uint32_t before = 0;
    std::uint32_t total = 0;
    Scan(storage).ExclusiveSum(count_inserted(chunk.bytes, count, ends), before, total);
    const std::uint32_t size = min(raw_bytes - tile, kImageThreads * 8u) + (total & 0xFFFF);
    fits = position + size + 18 <= stream.stuffed_capacity_bytes;
    if (!fits) break;
    write_stuffed(out + position + threadIdx.x * 8 + (before & 0xFFFF), chunk.bytes, count, ends,
                  segment + (before >> 16));
    position += size;
    segment += total >> 16;
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  out[position] = 0xFF;
  out[position + 1] = 0xD9;
  for (std::uint32_t i = 2; i < 18; ++i) out[position + i] = 0;  // packed in pieces of 16 bytes
  if (!fits) atomicOr(&batch.status[stream.image], kTooLarge);
  record.bytes = fits && status == 0 ? position + 2 : 0;
  record.status = fits ? status : status | kTooLarge;
}

constexpr int kPackThreads = 256;

__global__ void __launch_bounds__(kPackThreads) pack_kernel(BatchView batch) {
  gpu::await_earlier();
  using Reduce = cub::BlockReduce<std::uint64_t, kPackThreads>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ std::uint64_t start;
  std::uint64_t before = 0;
  for (std::uint32_t i = threadIdx.x; i < blockIdx.x; i += kPackThreads)
    before += (batch.records[i].bytes + 15u) / 16 * 16;
  before = Reduce(storage).Sum(before);
  if (threadIdx.x == 0) start = before;
  __syncthreads();
  OutputRecord record = batch.records[blockIdx.x];
  record.offset = start;
  const std::uint32_t search = batch.encodes[blockIdx.x].search;
  record.quality = search != 0 ? batch.searches[search - 1].quality : 0;
  record.missed = search != 0 ? batch.searches[search - 1].missed : 0;
  if (start + (record.bytes + 15u) / 16 * 16 > batch.host_capacity_bytes) {
    record.bytes = 0;
    record.status |= kTooLarge;
  }
  const auto* from = reinterpret_cast<const uint4*>(batch.base + batch.encodes[blockIdx.x].stuffed);
  auto* to = reinterpret_cast<uint4*>(batch.host_output + start);
  for (std::uint32_t i = threadIdx.x; i < (record.bytes + 15) / 16; i += kPackThreads)
    to[i] = from[i];
  if (threadIdx.x == 0) batch.host_records[blockIdx.x] = record;
}

}  // namespace

void launch_entropy_encode(const BatchView& batch, const EncodeWork& work, cudaStream_t stream) {
  gpu::launch(count_kernel, work.tile_count, kBlocksPerTile, 0, stream, batch, work.tiles);
  gpu::launch(lay_out_kernel, work.stream_count, kImageThreads, 0, stream, batch, work.streams);
  gpu::launch(write_kernel, work.tile_count, kBlocksPerTile, 0, stream, batch, work.tiles);
}

void launch_stuff(const BatchView& batch, const EncodeWork& work, cudaStream_t stream) {
  gpu::launch(stuff_kernel, work.stream_count, kImageThreads, 0, stream, batch, work.streams);
}

void launch_pack(const BatchView& batch, cudaStream_t stream) {
  gpu::launch(pack_kernel, batch.encode_count, kPackThreads, 0, stream, batch);
}

}  // namespace framewire::codec::cuda
