// Idea: zeros after 0xFF are stuffed in a pass of their own, since their number depends on every
// byte before; then streams of any size are stored to the host one behind the other, so that it
// reserves no room for the largest.
//
// Source: T.81 B.1.1.5.
#include <codec/cuda/tuning.h>
#include <algorithm>
#include <codec/cuda/encode/finish_streams.hpp>
#include <codec/cuda/encode/size_search.hpp>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

/// Raw bytes that a thread block stuffs at once.
constexpr std::uint32_t kStuffBytes = kImageThreads * kPieceBytes;

/// Raw bytes of a stream, and a bit for each byte that ends a segment.
struct RawStream {
  const std::uint8_t* bytes;
  const std::uint8_t* marks;
  std::uint32_t count;
};

struct RawPiece {
  union {
    uint2 words;
    std::uint8_t bytes[kPieceBytes];
  };
  std::uint32_t count;
  std::uint32_t ends;
};

__device__ RawPiece load_piece(const RawStream& raw, std::uint32_t at) {
  RawPiece piece{};
  if (at >= raw.count) return piece;
  piece.count = min(kPieceBytes, raw.count - at);
  piece.words = *reinterpret_cast<const uint2*>(raw.bytes + at);
  piece.ends = raw.marks[at / 8];
  return piece;
}

/// What stuffing inserts into a piece: bytes (low half) and segment ends (high half).
__device__ std::uint32_t count_inserted(const RawPiece& piece) {
  std::uint32_t inserted = 0;
  for (std::uint32_t i = 0; i < piece.count; ++i) {
    if (piece.bytes[i] == 0xFF) ++inserted;
    if (piece.ends >> i & 1) inserted += 2 | 1u << 16;
  }
  return inserted;
}

/// Where in a stream the next stuffed byte goes.
struct StuffPlace {
  std::uint32_t position;
  std::uint32_t segment;
};

/// Where the raw bytes before `end`, a multiple of kStuffBytes, end once stuffed. All threads of a
/// block call it together.
__device__ StuffPlace place_behind(const RawStream& raw, std::uint32_t end) {
  using Reduce = cub::BlockReduce<std::uint64_t, kImageThreads>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ std::uint64_t all;
  std::uint64_t own = 0;  // count_inserted(), with halves of 32 bits
  for (std::uint32_t at = threadIdx.x * kPieceBytes; at < end; at += kStuffBytes) {
    const std::uint32_t inserted = count_inserted(load_piece(raw, at));
    own += (inserted & 0xFFFF) | static_cast<std::uint64_t>(inserted >> 16) << 32;
  }
  const std::uint64_t sum = Reduce(storage).Sum(own);
  if (threadIdx.x == 0) all = sum;
  __syncthreads();
  return {end + static_cast<std::uint32_t>(all), static_cast<std::uint32_t>(all >> 32)};
}

__device__ void write_stuffed(std::uint8_t* out, const RawPiece& piece, std::uint32_t segment) {
  for (std::uint32_t i = 0; i < piece.count; ++i) {
    *out++ = piece.bytes[i];
    if (piece.bytes[i] == 0xFF) *out++ = 0;
    if (piece.ends >> i & 1) {
      *out++ = 0xFF;
      *out++ = static_cast<std::uint8_t>(0xD0 + (segment++ & 7));
    }
  }
}

__device__ void copy_bytes(std::uint8_t* to, const std::uint8_t* from, std::uint32_t count) {
  for (std::uint32_t i = threadIdx.x; i < count; i += kImageThreads) to[i] = from[i];
}

/// Number of Huffman tables of a stream that has its own; otherwise 0.
__device__ std::uint32_t own_tables(const EncodeDesc& stream) {
  return stream.optimal != nullptr ? stream.planes[stream.plane_count - 1].code * 2 + 2 : 0;
}

/// Bytes before the entropy-coded ones, a stream's own tables included.
__device__ std::uint32_t header_length(const EncodeDesc& stream) {
  std::uint32_t length = stream.header_bytes;
  for (std::uint32_t i = 0; i < own_tables(stream); ++i) length += stream.optimal->segment_bytes[i];
  return length;
}

__device__ void write_header(const EncodeView& batch, const EncodeDesc& stream, std::uint8_t* out) {
  const std::uint8_t* header = stream.header;
  const std::uint32_t front = stream.header_bytes - stream.tail_bytes;
  copy_bytes(out, header, front);
  std::uint32_t position = front;
  for (std::uint32_t i = 0; i < own_tables(stream); ++i) {
    const OptimalCodes& own = *stream.optimal;
    copy_bytes(out + position, own.segments[i], own.segment_bytes[i]);
    position += own.segment_bytes[i];
  }
  copy_bytes(out + position, header + front, stream.tail_bytes);
  if (stream.search == 0) return;
  __syncthreads();
  const SizeSearch& search = batch.searches[stream.search - 1];
  const std::uint8_t* steps = batch.quality_quantisers + search.quality * 128;
  // A DQT segment of one 8-bit table has 69 bytes, of which the last 64 are steps.
  for (std::uint32_t i = threadIdx.x; i < search.dqt_count * 64; i += kImageThreads) {
    out[search.dqt + i / 64 * 69 + 5 + i % 64] = steps[i];
  }
}

/// Stuffs the raw bytes from `begin` to `end`; writes nothing beyond the stream's capacity. @return
/// where the next byte goes
__device__ StuffPlace stuff(const RawStream& raw, std::uint32_t begin, std::uint32_t end,
                            StuffPlace place, std::uint8_t* out, std::uint32_t capacity) {
  using Scan = cub::BlockScan<std::uint32_t, kImageThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  for (std::uint32_t tile = begin; tile < end; tile += kStuffBytes) {
    const RawPiece piece = load_piece(raw, tile + threadIdx.x * kPieceBytes);
    std::uint32_t before = 0;
    std::uint32_t total = 0;
    Scan(storage).ExclusiveSum(count_inserted(piece), before, total);
    const std::uint32_t size = min(raw.count - tile, kStuffBytes) + (total & 0xFFFF);
    if (place.position + size <= capacity) {
      write_stuffed(out + place.position + threadIdx.x * kPieceBytes + (before & 0xFFFF), piece,
                    place.segment + (before >> 16));
    }
    place.position += size;
    place.segment += total >> 16;
    __syncthreads();
  }
  return place;
}

/// Bytes behind the last entropy-coded byte: EOI, and zeros up to a piece of 16 bytes.
constexpr std::uint32_t kEndBytes = 18;

/// Writes EOI, then zeros, because streams are packed in pieces of 16 bytes.
__device__ void end_stream(std::uint8_t* out) {
  out[0] = 0xFF;
  out[1] = 0xD9;
  for (std::uint32_t i = 2; i < kEndBytes; ++i) out[i] = 0;
}

/// Each thread block of a stream stuffs `each` raw bytes, and counts for itself what those before
/// insert. The last block records whether the stream is too large; another block may already see
/// that in the status and record it too.
__global__ void __launch_bounds__(kImageThreads)
    stuff_kernel(EncodeView batch, const std::uint32_t* streams, std::uint32_t each) {
  gpu::grid_dependency_sync();
  const std::uint32_t index = stream_index(streams, blockIdx.x);
  const EncodeDesc& stream = batch.encodes[index];
  if (search_done(batch, stream)) return;
  // Read once: the last block may write it meanwhile, and all threads here must do the same.
  __shared__ std::uint32_t status;
  if (threadIdx.x == 0) status = batch.status[stream.image];
  __syncthreads();
  const RawStream raw{reinterpret_cast<const std::uint8_t*>(stream.raw),
                      reinterpret_cast<const std::uint8_t*>(stream.end_marks),
                      status == 0 ? stream.segment_bytes[stream.segment_count] : 0};
  const std::uint32_t begin = blockIdx.y * each;
  if (begin != 0 && begin >= raw.count) return;
  const std::uint32_t end = raw.count - begin <= each ? raw.count : begin + each;
  std::uint8_t* out = stream.stuffed;
  if (begin == 0) write_header(batch, stream, out);
  StuffPlace place = begin == 0 ? StuffPlace{0, 0} : place_behind(raw, begin);
  place.position += header_length(stream);
  const std::uint32_t capacity = stream.stuffed_capacity_bytes - kEndBytes;
  place = stuff(raw, begin, end, place, out, capacity);
  if (threadIdx.x != 0 || end != raw.count) return;
  const bool fits = place.position <= capacity;
  if (fits) end_stream(out + place.position);
  if (!fits) atomicOr(&batch.status[stream.image], kTooLarge);
  OutputRecord& record = batch.records[index];
  record.bytes = fits && status == 0 ? place.position + 2 : 0;
  record.status = fits ? status : status | kTooLarge;
}

static_assert(kPackThreads % 32 == 0);
constexpr std::uint32_t kPackWarps = kPackBlocks * kPackThreads / 32;

/// In host memory.
__device__ std::uint32_t packed_quads(const OutputRecord& record) {
  return (record.bytes + 15u) / 16;
}

/// Stores a part of a stream, and with the first part its record.
/// @param offset_quads  of the stream in host memory
__device__ void pack_part(const EncodeView& batch, std::uint32_t stream, std::uint32_t part,
                          std::uint32_t parts, std::uint64_t offset_quads) {
  const std::uint32_t lane = threadIdx.x % 32;
  OutputRecord record = batch.records[stream];
  record.offset = offset_quads * 16;
  const std::uint32_t search = batch.encodes[stream].search;
  record.quality = search != 0 ? batch.searches[search - 1].quality : 0;
  record.missed = search != 0 ? batch.searches[search - 1].missed : 0;
  if ((offset_quads + packed_quads(record)) * 16 > batch.host_capacity_bytes) {
    record.bytes = 0;
    record.status |= kTooLarge;
  }
  const auto* const from = reinterpret_cast<const uint4*>(batch.encodes[stream].stuffed);
  auto* const to = reinterpret_cast<uint4*>(batch.host_output) + offset_quads;
  const std::uint32_t quads = packed_quads(record);
  const std::uint32_t each = (quads + parts - 1) / parts;
  const std::uint32_t end = min((part + 1) * each, quads);
  for (std::uint32_t i = part * each + lane; i < end; i += 32) to[i] = from[i];
  if (lane == 0 && part == 0) batch.host_records[stream] = record;
}

/// Each warp packs some streams or parts of streams, one after the other.
__global__ void __launch_bounds__(kPackThreads) pack_kernel(EncodeView batch, std::uint32_t parts) {
  gpu::grid_dependency_sync();
  const std::uint32_t warp = (blockIdx.x * kPackThreads + threadIdx.x) / 32;
  const std::uint32_t count = batch.encode_count * parts;
  const std::uint32_t each = (count + kPackWarps - 1) / kPackWarps;
  const std::uint32_t first = min(warp * each, count);
  const std::uint32_t end = min(first + each, count);
  std::uint64_t offset_quads = 0;
  for (std::uint32_t i = threadIdx.x % 32; i < first / parts; i += 32) {
    offset_quads += packed_quads(batch.records[i]);
  }
  for (int step = 16; step > 0; step /= 2) {
    offset_quads += __shfl_xor_sync(0xFFFFFFFFu, offset_quads, step);
  }
  for (std::uint32_t i = first; i < end; ++i) {
    const std::uint32_t stream = i / parts;
    pack_part(batch, stream, i % parts, parts, offset_quads);
    if ((i + 1) % parts == 0) offset_quads += packed_quads(batch.records[stream]);
  }
}

}  // namespace

void launch_stuff(const EncodeView& batch, const EncodeWork& work, cudaStream_t stream) {
  // Few streams leave the device empty while everybody waits for them, so each is divided.
  const std::uint32_t tiles = (work.max_raw_bytes + kStuffBytes - 1) / kStuffBytes;
  const std::uint32_t max_parts = work.stream_count < work.many_streams ? kMaxStuffParts : 1;
  const std::uint32_t tiles_each = std::max(1u, (tiles + max_parts - 1) / max_parts);
  const std::uint32_t parts = std::max(1u, (tiles + tiles_each - 1) / tiles_each);
  gpu::launch(stuff_kernel, dim3(work.stream_count, parts), kImageThreads, 0, stream, batch,
              work.streams, tiles_each * kStuffBytes);
}

void launch_pack(const EncodeView& batch, cudaStream_t stream) {
  // Few streams are waited for, and divided.
  const std::uint32_t parts = std::max(1u, kPackWarps / batch.encode_count);
  gpu::launch(pack_kernel, kPackBlocks, kPackThreads, 0, stream, batch, parts);
}

}  // namespace framewire::codec::cuda
