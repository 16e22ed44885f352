// Idea: code each block by itself, sum the bits to positions, move them there. Positions are bits
// within segments, which begin at whole bytes. A word that two blocks share is OR-ed atomically
// into zeroed memory; all others are stored. Zeros after 0xFF are stuffed in a second pass, since
// their number depends on every byte before.
//
// Source: T.81 F.1.2 (coding), B.1.1.5 (stuffing); codes by block_coder.hpp.
#include <codec/cuda/tuning.h>
#include <codec/cuda/decode/unstuffer.hpp>
#include <codec/cuda/encode/block_coder.hpp>
#include <codec/cuda/encode/encode_place.hpp>
#include <codec/cuda/encode/entropy_encode.hpp>
#include <codec/cuda/encode/size_search.hpp>
#include <cub/block/block_scan.cuh>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

/// Words of a block's bits that are kept until their place is known. A photograph's block has 70
/// bits at quality 90; one that has more than these words hold is coded once more.
constexpr std::uint32_t kKeptWords = 8;
constexpr std::uint32_t kKeptBits = kKeptWords * 32;
static_assert(kKeptWords * sizeof(std::uint32_t) <= kRawBytesPerBlock, "EncodeDesc::stuffed");

/// The kept words of a stream's blocks, the first of all blocks before the second of all, so that
/// lanes read and write side by side. They lie where the finished stream will.
__device__ std::uint32_t* kept_words(const EncodeDesc& stream) {
  return reinterpret_cast<std::uint32_t*>(stream.stuffed);
}

/// Counts bits, and keeps the first of them.
struct BitKeeper {
  std::uint32_t* words;  ///< shared, the first of this thread; the next is kBlocksPerTile behind
  std::uint32_t bits = 0;
  std::uint64_t pending = 0;

  __device__ void put(std::uint32_t code, std::uint32_t count) {
    const std::uint32_t filled = (bits & 31) + count;
    pending = pending << count | code;
    if (filled >= 32) {
      keep(static_cast<std::uint32_t>(pending >> (filled - 32)));
      pending &= (1ull << (filled - 32)) - 1;
    }
    bits += count;
  }
  /// Keeps the last bits, at a word's upper end.
  __device__ void flush() {
    if ((bits & 31) != 0) keep(static_cast<std::uint32_t>(pending << (32 - (bits & 31))));
  }

 private:
  /// @param word  that ends the one which `bits` is in
  __device__ void keep(std::uint32_t word) {
    if (bits < kKeptBits) words[bits / 32 * kBlocksPerTile] = word;
  }
};

/// Stores bits from a position on. Words are in stream order: the first byte lowest.
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
  __device__ void flush() {
    if (filled == 0) return;
    atomicOr(words + word, swap_bytes(static_cast<std::uint32_t>(pending << (32 - filled))));
  }
};

/// Runs one block through a sink.
template <typename Sink>
__device__ void code_output_block(const EncodeDesc& stream, std::uint32_t block,
                                  const std::uint32_t* codes, Sink& sink) {
  const EncodePlace place = place_output_block(stream, block);
  const std::uint32_t before = previous_block(stream, place, block);
  const std::int16_t* levels = stream.levels + std::uint64_t{block} * 64;
  const std::int32_t predicted =
      before == 0xFFFFFFFFu ? 0 : stream.levels[std::uint64_t{before} * 64];
  code_block(levels, stream.masks[block], levels[0] - predicted,
             codes + stream.planes[place.plane].code * 512, sink);
}

__device__ void load_codes(const EncodeDesc& stream, std::uint32_t* codes) {
  for (std::uint32_t i = threadIdx.x; i < 1024; i += blockDim.x) codes[i] = stream.codes[i];
  __syncthreads();
}

__global__ void __launch_bounds__(kBlocksPerTile) code_kernel(EncodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ std::uint32_t codes[1024];
  __shared__ std::uint32_t kept[kKeptWords * kBlocksPerTile];
  const Tile tile = tiles[blockIdx.x];
  const EncodeDesc& stream = batch.encodes[tile.owner];
  if (nothing_to_encode(batch, stream)) return;
  load_codes(stream, codes);
  const std::uint32_t block = tile.part * kBlocksPerTile + threadIdx.x;
  if (block >= stream.total_blocks) return;
  BitKeeper keeper{kept + threadIdx.x};
  code_output_block(stream, block, codes, keeper);
  keeper.flush();
  stream.bit_counts[block] = keeper.bits;
  std::uint32_t* words = kept_words(stream) + block;
  const std::uint32_t count = keeper.bits <= kKeptBits ? (keeper.bits + 31) / 32 : 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    words[std::uint64_t{i} * stream.total_blocks] = kept[i * kBlocksPerTile + threadIdx.x];
  }
}

/// Replaces the bit counts of a stream's blocks by the sums of those before, and stores the total
/// behind them. @return the total
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
  if (threadIdx.x == 0) counts[total_blocks] = base;
  return base;
}

/// Computes the byte offsets of all segments. @return the number of raw bytes, which the caller
/// stores behind them
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

__global__ void __launch_bounds__(kImageThreads)
    lay_out_kernel(EncodeView batch, const std::uint32_t* streams) {
  gpu::grid_dependency_sync();
  const std::uint32_t index = stream_index(streams, blockIdx.x);
  const EncodeDesc& stream = batch.encodes[index];
  if (nothing_to_encode(batch, stream)) return;
  std::uint32_t* bits = stream.bit_counts;
  std::uint32_t* offsets = stream.segment_bytes;
  const std::uint32_t total_bits = sum_bits(bits, stream.total_blocks);
  __syncthreads();
  const std::uint32_t raw_bytes = place_segments(stream, bits, total_bits, offsets);
  const bool fits = raw_bytes + 8 <= stream.raw_capacity_bytes;
  if (threadIdx.x == 0) {
    offsets[stream.segment_count] = fits ? raw_bytes : 0;
    if (!fits) atomicOr(&batch.status[stream.image], kTooLarge);
  }
  if (!fits) return;
  std::uint32_t* raw = stream.raw;
  std::uint32_t* marks = stream.end_marks;
  for (std::uint32_t i = threadIdx.x; i < raw_bytes / 4 + 2; i += kImageThreads) raw[i] = 0;
  for (std::uint32_t i = threadIdx.x; i < raw_bytes / 32 + 2; i += kImageThreads) marks[i] = 0;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x + 1; i < stream.segment_count; i += kImageThreads) {
    const std::uint32_t last = offsets[i] - 1;
    atomicOr(marks + last / 32, 1u << (last & 31));
  }
}

/// Sends the kept bits of a block.
__device__ void move_bits(const EncodeDesc& stream, std::uint32_t block, std::uint32_t bits,
                          BitStore& store) {
  const std::uint32_t* words = kept_words(stream) + block;
  for (; bits >= 32; bits -= 32, words += stream.total_blocks) store.put(*words, 32);
  if (bits != 0) store.put(*words >> (32 - bits), bits);
}

__global__ void __launch_bounds__(kBlocksPerTile)
    write_kernel(EncodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  __shared__ std::uint32_t codes[1024];
  const Tile tile = tiles[blockIdx.x];
  const EncodeDesc& stream = batch.encodes[tile.owner];
  if (nothing_to_encode(batch, stream)) return;
  const std::uint32_t block = tile.part * kBlocksPerTile + threadIdx.x;
  const std::uint32_t* positions = stream.bit_counts + block;
  const std::uint32_t bits = block < stream.total_blocks ? positions[1] - positions[0] : 0;
  if (__syncthreads_or(static_cast<int>(bits > kKeptBits)) != 0) load_codes(stream, codes);
  if (block >= stream.total_blocks) return;
  const std::uint32_t segment = block / stream.segment_blocks;
  const std::uint32_t start = stream.segment_bytes[segment] * 8 + positions[0] -
                              stream.bit_counts[segment * stream.segment_blocks];
  BitStore store(stream.raw, start);
  if (bits <= kKeptBits) {
    move_bits(stream, block, bits, store);
  } else {
    code_output_block(stream, block, codes, store);
  }
  const bool ends = block + 1 == stream.total_blocks || (block + 1) % stream.segment_blocks == 0;
  const std::uint32_t padding = (8 - (store.filled & 7)) & 7;
  if (ends && padding != 0) store.put((1u << padding) - 1, padding);
  store.flush();
}

}  // namespace

void launch_entropy_encode(const EncodeView& batch, const EncodeWork& work, cudaStream_t stream) {
  gpu::launch(code_kernel, work.tile_count, kBlocksPerTile, 0, stream, batch, work.tiles);
  gpu::launch(lay_out_kernel, work.stream_count, kImageThreads, 0, stream, batch, work.streams);
  gpu::launch(write_kernel, work.tile_count, kBlocksPerTile, 0, stream, batch, work.tiles);
}

}  // namespace framewire::codec::cuda
