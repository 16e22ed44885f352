// Launch constants of the CUDA codec. Each can be set from the compiler's command line, so that one
// bench run can compare several builds.
#pragma once

#ifndef FW_SUBSEQUENCE_BYTES
#define FW_SUBSEQUENCE_BYTES 512
#endif
#ifndef FW_TINY_SUBSEQUENCE_BYTES
#define FW_TINY_SUBSEQUENCE_BYTES 64
#endif
#ifndef FW_LONE_SUBSEQUENCE_BYTES
#define FW_LONE_SUBSEQUENCE_BYTES 32
#endif
#ifndef FW_TABLE_BITS
#define FW_TABLE_BITS 10
#endif
#ifndef FW_STEP_BITS
#define FW_STEP_BITS 9
#endif
#ifndef FW_SYNC_THREADS
#define FW_SYNC_THREADS 256
#endif
#ifndef FW_SYNC_SHARE
#define FW_SYNC_SHARE 4
#endif
#ifndef FW_WRITE_BLOCKS
#define FW_WRITE_BLOCKS 5
#endif
#ifndef FW_FULL_WRITE_BLOCKS
#define FW_FULL_WRITE_BLOCKS 4
#endif
#ifndef FW_WARM_BITS
#define FW_WARM_BITS 2048
#endif
#ifndef FW_LONG_WARM_BITS
#define FW_LONG_WARM_BITS 3072
#endif
#ifndef FW_TRACE_WARM_BITS
#define FW_TRACE_WARM_BITS 1024
#endif
#ifndef FW_LONE_WARM_BITS
#define FW_LONE_WARM_BITS 768
#endif
#ifndef FW_MANY_SCANS
#define FW_MANY_SCANS 64
#endif
#ifndef FW_SMALL_BATCH_BYTES
#define FW_SMALL_BATCH_BYTES (16 << 20)
#endif

#include <cstddef>
#include <cstdint>

namespace framewire::codec::cuda {

/// File bytes decoded by one thread in large batches, a multiple of 16. Short: many threads, long
/// resynchronisation; long: the reverse, and too few threads for small batches, which therefore
/// take less (entropy_layout.hpp).
inline constexpr int kMaxSubsequenceBytes = FW_SUBSEQUENCE_BYTES;
/// Entropy-coded bytes below which a batch gets short and very short subsequences.
inline constexpr std::uint64_t kSmallBatchBytes = FW_SMALL_BATCH_BYTES;
inline constexpr std::uint64_t kTinyBatchBytes = kSmallBatchBytes / 4;
/// And below which as few images get the shortest, at the cost of more work.
inline constexpr std::uint64_t kLoneBatchBytes = kTinyBatchBytes / 4;
inline constexpr std::size_t kLoneImages = 2;
/// The same in the smallest batches, where every phase is tried; multiples of 16.
inline constexpr int kTinySubsequenceBytes = FW_TINY_SUBSEQUENCE_BYTES;
inline constexpr int kLoneSubsequenceBytes = FW_LONE_SUBSEQUENCE_BYTES;
/// Bits that index the lookup tables; longer codes have tables of their own.
inline constexpr int kTableBits = FW_TABLE_BITS;
/// The same where values are wanted.
inline constexpr int kStepBits = FW_STEP_BITS;
/// 16-bit windows that no lookup covers and are tabulated; the standard codes need 640 above 9
/// bits.
inline constexpr int kLongEntries = 640;
/// Threads of a block of the unstuffing and writing kernels, one subsequence each; every scan's
/// subsequences begin at a multiple of it.
inline constexpr int kSpanThreads = 256;
/// Threads of a block of the synchronising kernel, and the subsequences among which they exchange
/// states: several a thread, so that those in need of repair fill whole warps.
inline constexpr int kSyncThreads = FW_SYNC_THREADS;
inline constexpr int kSyncShare = FW_SYNC_SHARE;
/// Blocks of the writing kernel that a multiprocessor must hold: bounds its registers.
inline constexpr int kWriteBlocks = FW_WRITE_BLOCKS;
/// The same where whole blocks are kept.
inline constexpr int kFullWriteBlocks = FW_FULL_WRITE_BLOCKS;
/// Bits decoded before a subsequence begins, so that its first guess is usually right. Measured
/// (H200, 16 streams with batches of 128, images/s at 1920×1080 → 480×270 and decode only; bytes of
/// a subsequence / bits of warm-up): 256/512 90,900, 76,300; 256/1024 91,600, 76,300; 384/1024
/// 92,100, 78,600; 512/1024 91,900, 79,900; 512/2048 92,800, 80,100.
inline constexpr int kWarmBits = FW_WARM_BITS;
/// The same where threads are to spare, and every round of repair is waited for.
inline constexpr int kLongWarmBits = FW_LONG_WARM_BITS;
/// The same where every phase is tried (trace.cu).
inline constexpr int kTraceWarmBits = FW_TRACE_WARM_BITS;
inline constexpr int kLoneWarmBits = FW_LONE_WARM_BITS;
/// At kMaxSubsequenceBytes: rounds of repair inside a thread block, then chains of repair between
/// blocks; what is still wrong afterwards goes to the CPU.
inline constexpr int kSyncRounds = 32;
inline constexpr int kChainRounds = 3;
inline constexpr int kChainLength = 32;

/// Threads of the kernels in which one block walks through one image.
inline constexpr int kImageThreads = 512;
/// Entropy-coded bytes in which one thread block looks for restart markers.
inline constexpr std::uint32_t kMarkerTileBytes = 32 << 10;
/// Scans from which on one thread block each is enough to fill a device.
inline constexpr std::size_t kManyScans = FW_MANY_SCANS;
/// DCT blocks that one thread block inverts, transforms or encodes.
inline constexpr int kBlocksPerTile = 256;
/// Output tile of the resampler.
inline constexpr int kTileWidth = 64;
inline constexpr int kTileHeight = 32;
/// Rows of output that one thread of the resampler makes together.
inline constexpr int kRowGroup = 4;
inline constexpr int kResampleThreads = 256;
/// Source rows that one tile may need: bounds shared memory, and so the filter's support.
inline constexpr int kTileSourceRows = 160;
/// Threads and square tile of the stages between resampling and encoding.
inline constexpr int kFinishThreads = 256;
inline constexpr int kFinishTile = 32;
/// Threads of the resampling kernels that take any reduction.
inline constexpr int kLongThreads = 256;
/// Bytes of raw entropy-coded output that a DCT block may take on average before the image is given
/// up: beyond quality 100 on noise.
inline constexpr int kRawBytesPerBlock = 96;

}  // namespace framewire::codec::cuda
