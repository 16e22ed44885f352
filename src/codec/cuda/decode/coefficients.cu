// Idea: one thread decodes one subsequence, as in synchronise.cu, now with values: up to three
// symbols a step (entry.hpp). Of each dct_block only the low-frequency corner that the inverse
// transform reads is kept: it is collected in shared memory and stored as a whole. A subsequence
// may begin inside a dct_block; what it finds of that block goes to `heads`, and join_heads_kernel
// adds it later. DC differences lie in words of their own, because summing them there touches 4
// bytes a block instead of a 32-byte sector.
//
// Source: Weißenberger and Schmidt (2018, 2021); see span_decoder.hpp.
//
// What limits (ncu, H200): the first-level cache is busy for 70 of 100 cycles, and where many
// kernels run side by side, instructions. A step of a warp takes some 120 of these; in 19 of 20
// steps some lane's block ends. Each store of a lane is a message of its own to the second-level
// cache, which limits where blocks are short, as those of 4:4:4 are.
//
// Measured (H200, 373 KB images; µs an image of this kernel alone in batches of 512, and images/s
// of the whole codec on 16 streams, in one run):
//   index, bit and end of block apart, words one by one      3.79  104,000
//   one cursor, edges apart, words straight into registers   3.59  111,200
//   pairs of words, quads in banks of their own, puts that
//   end with the corner                                      3.48  111,700
// In another run (387 KB of 4:2:0, 463 KB of 4:4:4; the latter's chrominance needs corners of 2):
//   DC differences of 2 bytes, corners of 4×4                3.30    6.45
//   differences in twos                                      3.12
//   and of low blocks half of the sector                             8.29
//   halves of a corner without anything left out             3.57    6.69
//   words instead of differences, corners of 2 for low
//   blocks, words in twos                                    3.28    6.65
//   and a warp stores together, two lanes a corner           4.50    6.67
// A sector of which a part is never written costs more than one that is. Low blocks pay for
// themselves in the inverse transform, which takes 1.42 instead of 3.33 µs, and words where blocks
// are whole: 4.96 instead of 5.82 µs, as no byte of its own tells which rows are stored.
//
// Earlier kernels, in another run:
//   9-bit steps, 5 thread blocks a multiprocessor            3.9   104,000
//   9-bit steps, 4                                           4.2   102,000
//   10-bit steps, 5                                          3.9    93,000
//   10-bit steps, 4                                          4.0   100,000
//   10-bit steps, 3                                          4.1   100,500
//   one symbol a step, its value read from the bits          4.8    95,600
// Larger tables lose because kernels of other streams lack the shared memory. Whole blocks take 7.5
// µs, and 9.7 without pads between the threads' 128 bytes (every lane in the same banks).
//
// Not built: steps of two symbols in 32 bits, indexed by 10. Photographs at quality 90 would take 2
// to 4 of 100 steps fewer, camera files with optimised codes 38 more.
//
// Tried and rejected (H100, one symbol a step, 4.3 µs then):
//   each coefficient stored into zeroed memory               11.2
//   lanes wait at a block's end for 4 or 8 symbols           no gain, 4.8
//   a second buffer a lane, so that a warp stores together   4.8 (votes cost more than it saves)
//   fewer registers for more warps                           4.9 at 42, 7.6 at 36
#include <codec/cuda/decode/coefficients.hpp>
#include <codec/cuda/decode/columns.hpp>
#include <codec/cuda/decode/near_array.hpp>
#include <codec/cuda/zigzag.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

/// Finds the blocks that are kept whole besides their corner.
struct EdgeFinder {
  const ScanDesc* scan;
  std::uint32_t next = 0;  ///< before this block there is nothing to find

  /// Where to keep this block; null for most blocks. Costs a division only near an edge.
  __device__ std::int16_t* find(std::uint32_t block) {
    if (block < next) return nullptr;
    const std::uint32_t mcu = block / scan->blocks_per_mcu;
    const std::uint32_t y = mcu / scan->mcu_columns;
    const std::uint32_t x = mcu - y * scan->mcu_columns;
    const bool right = scan->right_edge != 0 && x + 1 == scan->mcu_columns;
    const bool bottom = scan->bottom_edge != 0 && y + 1 == scan->mcu_rows;
    if (right || bottom) {
      const std::uint32_t slot =
          edge_slot(scan->right_edge, scan->mcu_columns, scan->mcu_rows, scan->blocks_per_mcu, x, y,
                    block - mcu * scan->blocks_per_mcu);
      return scan->edges + static_cast<std::uint64_t>(slot) * 64;
    }
    const std::uint32_t row_end = (y + 1) * scan->mcu_columns - 1;
    const std::uint32_t bottom_row = (scan->mcu_rows - 1) * scan->mcu_columns;
    next = scan->right_edge != 0    ? row_end * scan->blocks_per_mcu
           : scan->bottom_edge != 0 ? bottom_row * scan->blocks_per_mcu
                                    : 0xFFFFFFFFu;
    return nullptr;
  }
};

/// Tells blocks that are kept from others of a scan that keeps a part.
struct PartFinder {
  const ScanDesc* scan;
  std::uint32_t next = 0;  ///< before this block the answer stays as it is
  bool kept = false;

  /// Costs a division only where a row begins or ends, or the part does.
  __device__ bool keeps(std::uint32_t block) {
    if (block < next) return kept;
    const std::uint32_t mcu = block / scan->blocks_per_mcu;
    const std::uint32_t y = mcu / scan->mcu_columns;
    const std::uint32_t x = mcu - y * scan->mcu_columns;
    kept = false;
    if (y >= scan->end_row) {
      next = 0xFFFFFFFFu;
      return false;
    }
    std::uint32_t row = y;
    std::uint32_t column = scan->first_column;
    if (y < scan->first_row) {
      row = scan->first_row;
    } else if (x >= scan->end_column) {
      ++row;
    } else if (x >= scan->first_column) {
      kept = true;
      column = scan->end_column;
    }
    next = (row * scan->mcu_columns + column) * scan->blocks_per_mcu;
    return kept;
  }
};

/// Where a thread's quads lie in shared memory, one behind the other for all threads: lanes that
/// write to any of their own quads then meet in few banks.
constexpr std::uint32_t kQuadStride = kSpanThreads * sizeof(uint4);

/// Where each zig-zag index lies.
struct Positions {
  std::uint16_t corner[64];  ///< byte of the thread's quads; behind them where the corner ends
  std::uint8_t natural[64];  ///< element of a whole block
};

/// One more than the last zig-zag index of a corner.
FW_HD constexpr std::uint32_t corner_indices(std::uint32_t corner) {
  return corner == 8 ? 64 : corner == 4 ? 25 : corner == 2 ? 5 : 1;
}

/// Collects a block's corner in shared memory, and stores it and its word. Its first element is the
/// DC difference, which counts in the word alone. Of a whole block, pairs of rows without a
/// coefficient are left out, unless another subsequence joins its part.
/// @tparam kQuads  16-byte pieces of the largest corner: 2 for 4×4, 8 for 8×8
/// @tparam kEdges  whether some block may have to be kept whole besides its corner
/// @tparam kPart   whether of some blocks DC alone is kept
/// @tparam kLow    whether some blocks are low
template <int kQuads, bool kEdges, bool kPart, bool kLow>
struct CornerSink {
  uint4* own;  ///< shared, kQuads of this thread, zero between blocks; quad i at i × kSpanThreads
  std::uint8_t* at;                 ///< the next block's corner
  std::uint32_t* words;             ///< ScanDesc::block_words
  NearArray<std::uint16_t> corner;  ///< Positions::corner
  const std::uint8_t* natural;      ///< Positions::natural
  uint4* head;                      ///< where the rest of a block goes that another thread began
  std::uint32_t indices;            ///< corner_indices()
  std::uint32_t bytes;              ///< corner_bytes() of blocks that are not low
  EdgeFinder edges;
  PartFinder part;
  std::uint32_t block = 0;
  bool continued = false;
  bool low = false;
  bool kept = true;  ///< or DC alone
  std::int16_t* whole = nullptr;
  std::uint32_t found = 0;      ///< pairs of rows that hold anything; where quads are eight
  std::uint32_t even_word = 0;  ///< of the even block before an odd one; where some are low

  __device__ void begin(std::uint32_t begun, bool began_before, bool marked) {
    block = begun;
    continued = began_before;
    if constexpr (kLow) low = marked;
    if constexpr (kPart) kept = part.keeps(block);
    if constexpr (kEdges) whole = kept ? edges.find(block) : nullptr;
  }
  __device__ void put(std::uint32_t index, std::int32_t value) {
    if (index < (kept ? indices : 1)) {
      const std::uint32_t place = corner.wide(index);
      *reinterpret_cast<std::int16_t*>(reinterpret_cast<std::uint8_t*>(own) + place) =
          static_cast<std::int16_t>(value);
      if constexpr (kQuads == 8) found |= value != 0 ? 1u << (place / (2 * kQuadStride)) : 0;
    }
    if constexpr (kEdges) {
      // No zeros: another thread may have written the rest of the block.
      if (whole != nullptr && value != 0 && index < 64) {
        whole[natural[index]] = static_cast<std::int16_t>(value);
      }
    }
  }
  __device__ void end(bool complete) {
    const uint4 first = own[0];
    const bool all = continued || !complete;
    if constexpr (kPart) {
      if (!kept) {
        if (!continued) keep_word(word_of_block(first.x, 0));
        own[0] = make_uint4(0, 0, 0, 0);
        found = 0;
        at += low ? corner_bytes(kLowSide) : bytes;
        return;
      }
    }
    auto* const target = continued ? head : reinterpret_cast<uint4*>(at);
    if constexpr (kQuads == 8) {
      const std::uint32_t pairs = all ? kAllRowPairs : found;
      if (!continued) keep_word(word_of_block(first.x, pairs));
      store_rows(target, pairs);
      found = 0;
    } else {
      if (!continued) keep_word(word_of_block(first.x, kAllRowPairs));
      if (continued || (bytes == 32 && !low)) {
        target[0] = first;
        target[1] = own[kSpanThreads];
      } else if (low) {
        *reinterpret_cast<uint2*>(target) = make_uint2(first.x, first.z);
      } else if (bytes == 8) {
        *reinterpret_cast<uint2*>(target) = make_uint2(first.x, first.y);
      }
      own[kSpanThreads] = make_uint4(0, 0, 0, 0);
      own[0] = make_uint4(0, 0, 0, 0);
    }
    at += low ? corner_bytes(kLowSide) : bytes;
  }
  __device__ void store_rows(uint4* target, std::uint32_t pairs) {
#pragma unroll
    for (int i = 0; i < kQuads; i += 2) {
      if ((pairs >> (i / 2) & 1) == 0) continue;
      uint4* const rows = own + i * kSpanThreads;
      target[i] = rows[0], target[i + 1] = rows[kSpanThreads];
      rows[0] = rows[kSpanThreads] = make_uint4(0, 0, 0, 0);
    }
  }
  /// Where many blocks are short, messages to the second-level cache are what limits: words go
  /// there in twos. Elsewhere instructions are.
  __device__ void keep_word(std::uint32_t word) {
    if constexpr (!kLow) {
      words[block] = word;
    } else if ((block & 1) == 0) {
      even_word = word;
    } else {
      if (even_word != 0) {
        *reinterpret_cast<uint2*>(words + block - 1) = make_uint2(even_word, word);
      } else {
        words[block] = word;
      }
      even_word = 0;
    }
  }
  /// Stores the word that waits for an odd block's, behind all blocks.
  __device__ void flush() {
    if (even_word != 0) words[block & ~1u] = even_word;
  }
};

/// Fills `positions`.
__device__ void load_positions(std::uint32_t corner, Positions& positions) {
  for (std::uint32_t i = threadIdx.x; i < 64; i += kSpanThreads) {
    const std::uint32_t natural = natural_position(i);
    const std::uint32_t u = natural & 7;
    const std::uint32_t v = natural >> 3;
    const auto byte = (u < corner && v < corner ? v * corner + u : 16) *
                      static_cast<std::uint32_t>(sizeof(short));
    positions.corner[i] = static_cast<std::uint16_t>(byte / 16 * kQuadStride + byte % 16);
    positions.natural[i] = static_cast<std::uint8_t>(natural);
  }
}

/// Judges the bits between the end of a segment's last block and the segment's end. @return status
/// bits
__device__ std::uint32_t judge_end(const DecodeView& batch, const ScanDesc& scan,
                                   std::uint32_t subsequence, std::uint32_t length,
                                   std::uint32_t at) {
  std::int32_t left = static_cast<std::int32_t>(length) - static_cast<std::int32_t>(at);
  const std::uint32_t end = scan.first_subsequence + scan.subsequence_slots;
  for (std::uint32_t s = subsequence + 1; s < end && s <= subsequence + 2; ++s) {
    if (is_first(batch, s)) break;
    left += static_cast<std::int32_t>(length_of(batch, s));
  }
  return left < 0 ? kTruncated : left >= 8 ? kExtraneous : 0;
}

/// A subsequence with its place in the scan.
struct SubsequenceSpan {
  std::uint32_t subsequence;
  std::uint32_t length;
  std::uint32_t first_block;
  std::uint32_t block_end;  ///< of its segment, or of what is needed
  DecodeState state;
};

__device__ SubsequenceSpan load_span(const DecodeView& batch, const ScanDesc& scan,
                                     std::uint32_t subsequence, std::uint32_t length) {
  SubsequenceSpan span{subsequence, length, 0, 0, {}};
  if (length == 0) return span;
  span.first_block = batch.blocks[subsequence];
  if (span.first_block >= scan.end_block) return span;
  const std::uint32_t segment = scan.has_restarts != 0 ? batch.segment_of[subsequence] : 0;
  span.block_end = min((segment + 1) * scan.segment_blocks, scan.end_block);
  span.state = unpack(batch.entries[subsequence]);
  span.state.phase = span.first_block % scan.blocks_per_mcu;
  return span;
}

__device__ std::uint8_t* corner_at(const ScanDesc& scan, std::uint32_t block) {
  return reinterpret_cast<std::uint8_t*>(scan.coefficients) + place_corner(scan, block).at;
}

/// Whether a span has anything to decode.
__device__ bool is_live(const SubsequenceSpan& span) {
  return span.state.bit < span.length && span.first_block < span.block_end;
}

/// Whether a span may meet a block that is kept whole besides its corner.
__device__ bool meets_edge(const DecodeView& batch, const ScanDesc& scan,
                           const SubsequenceSpan& span) {
  if ((scan.right_edge | scan.bottom_edge) == 0 || !is_live(span)) return false;
  const std::uint32_t next = span.subsequence + 1;
  const bool goes_on = next < scan.first_subsequence + scan.subsequence_slots &&
                       length_of(batch, next) != 0 && !is_first(batch, next);
  EdgeFinder edges{&scan};
  return edges.find(span.first_block) != nullptr ||
         (goes_on ? batch.blocks[next] : span.block_end) >= edges.next;
}

/// Quads of a thread block: those of corners have one more a thread, for what lies outside of them.
template <int kQuads>
inline constexpr unsigned kOwnQuads = kSpanThreads*(kQuads == 8 ? kQuads : kQuads + 1);

template <int kQuads>
__global__ void __launch_bounds__(kSpanThreads, kQuads == 8 ? kFullWriteBlocks : kWriteBlocks)
    write_coefficients_kernel(DecodeView batch, const Tile* tiles, const TablePair* pairs) {
  gpu::grid_dependency_sync();
  auto* dynamic = gpu::dynamic_shared<uint4>();
  __shared__ Positions positions;
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const std::uint32_t local = tile.part * kSpanThreads + threadIdx.x;
  const std::uint32_t s = scan.first_subsequence + local;
  // Other thread blocks set `status` meanwhile: threads that see it stay, since each loads a part
  // of the tables that the others use.
  const bool decodes = local < scan.subsequence_slots && batch.status[scan.image] == 0;
  const std::uint32_t length = decodes ? length_of(batch, s) : 0;
  if (__syncthreads_or(static_cast<int>(length)) == 0) return;
  uint4* own = dynamic + threadIdx.x;
  for (int i = 0; i < kQuads; ++i) own[i * kSpanThreads] = make_uint4(0, 0, 0, 0);
  const SharedSteps tables =
      load_steps(scan, pairs, reinterpret_cast<Step*>(dynamic + kOwnQuads<kQuads>));
  load_positions(scan.corner, positions);
  __syncthreads();
  const SubsequenceSpan span = load_span(batch, scan, s, length);
  const auto write = [&]<bool kEdges, bool kPart, bool kLow>() {
    CornerSink<kQuads, kEdges, kPart, kLow> sink{
        own,
        corner_at(scan, span.first_block),
        scan.block_words,
        NearArray<std::uint16_t>(positions.corner),
        positions.natural,
        batch.heads + static_cast<std::uint64_t>(s) * kQuads,
        corner_indices(scan.corner),
        corner_bytes(scan.corner),
        {&scan},
        {&scan}};
    const SpanResult result =
        write_span(words_of(batch, s), tables, {scan.marked_tables, scan.marked_period},
                   span.length, span.state, span.first_block, span.block_end, sink);
    sink.flush();
    return result;
  };
  // A kernel with whole blocks keeps none besides, and has no low ones.
  constexpr bool kCorners = kQuads != 8;
  const bool edges = kCorners && scan.keeps_part == 0 &&
                     __ballot_sync(0xFFFFFFFFu, meets_edge(batch, scan, span)) != 0;
  const auto write_low_or_not = [&]<bool kEdges, bool kPart>() {
    return scan.low_phases != 0 ? write.template operator()<kEdges, kPart, kCorners>()
                                : write.template operator()<kEdges, kPart, false>();
  };
  SpanResult result;
  if (scan.keeps_part != 0) {
    result = write_low_or_not.template operator()<kCorners, true>();
  } else if (edges) {
    result = write_low_or_not.template operator()<kCorners, false>();
  } else {
    result = write_low_or_not.template operator()<false, false>();
  }
  if (local >= scan.subsequence_slots) return;
  std::uint32_t faults = result.bad ? kBadCode : 0;
  // Behind the last needed block nothing is judged, wherever this subsequence happens to end.
  const bool ends_segment = scan.end_block == scan.total_blocks || result.block < scan.end_block;
  if (span.first_block < span.block_end && result.block >= span.block_end && ends_segment) {
    faults |= judge_end(batch, scan, s, span.length, result.at);
  }
  if (result.block < span.block_end && is_lone(batch, scan, local)) faults |= kTruncated;
  if (faults != 0) atomicOr(&batch.status[scan.image], faults);
}

/// Adds to each block that spans a boundary what the later subsequence found of it.
template <int kQuads>
__global__ void __launch_bounds__(kSpanThreads)
    join_heads_kernel(DecodeView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  const Tile tile = tiles[blockIdx.x];
  const ScanDesc& scan = batch.scans[tile.owner];
  const std::uint32_t local = tile.part * kSpanThreads + threadIdx.x;
  if (batch.status[scan.image] != 0 || local >= scan.subsequence_slots) return;
  const std::uint32_t s = scan.first_subsequence + local;
  const SubsequenceSpan span = load_span(batch, scan, s, length_of(batch, s));
  if (!is_live(span) || span.state.index == 0) return;
  if (scan.keeps_part != 0 && !PartFinder{&scan}.keeps(span.first_block)) return;
  const auto* head =
      reinterpret_cast<const std::uint32_t*>(batch.heads + static_cast<std::uint64_t>(s) * kQuads);
  const CornerPlace place = place_corner(scan, span.first_block);
  auto* const corner = reinterpret_cast<std::uint32_t*>(
      reinterpret_cast<std::uint8_t*>(scan.coefficients) + place.at);
  // In heads low blocks lie as others do.
  const std::uint32_t row_words = place.bytes < corner_bytes(scan.corner) ? scan.corner / 2 : 1;
  for (std::uint32_t i = 0; i < place.bytes / 4; ++i) {
    const std::uint32_t found = head[i * row_words];
    if (found != 0) atomicOr(corner + i, found);
  }
}

template <int kQuads>
void launch_write(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                  const TablePair* pairs, std::uint32_t max_pairs, cudaStream_t stream) {
  constexpr std::uint32_t kOwnBytes = kOwnQuads<kQuads> * sizeof(uint4);
  const auto kernel = write_coefficients_kernel<kQuads>;
  gpu::allow_shared(kernel, kOwnBytes + step_bytes(4));
  gpu::launch(kernel, tile_count, kSpanThreads, kOwnBytes + step_bytes(max_pairs), stream, batch,
              tiles, pairs);
  gpu::launch(join_heads_kernel<kQuads>, tile_count, kSpanThreads, 0, stream, batch, tiles);
}

}  // namespace

void launch_write_coefficients(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                               bool reduced, const TablePair* pairs, std::uint32_t max_pairs,
                               cudaStream_t stream) {
  if (tile_count == 0) return;
  if (reduced) {
    launch_write<2>(batch, tiles, tile_count, pairs, max_pairs, stream);
  } else {
    launch_write<8>(batch, tiles, tile_count, pairs, max_pairs, stream);
  }
}

}  // namespace framewire::codec::cuda
