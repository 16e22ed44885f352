// Launch constants of the CUDA codec that templates and shared memory need. Those behind #ifndef
// can be set from the compiler's command line, so that one bench run can compare several builds;
// what can change without a build is in tuning.hpp.
#pragma once

#ifndef FW_SUBSEQUENCE_BYTES
#define FW_SUBSEQUENCE_BYTES 512
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

#include <cstddef>
#include <cstdint>

namespace framewire::codec::cuda {

/// File bytes decoded by one thread in large batches, a multiple of 16. Short: many threads, long
/// resynchronisation; long: the reverse, and too few threads for small batches, which therefore
/// take less (decode/choose_layout.hpp).
inline constexpr int kMaxSubsequenceBytes = FW_SUBSEQUENCE_BYTES;
/// And the shortest that may be asked for.
inline constexpr int kMinSubsequenceBytes = 16;
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

/// Threads of the kernels in which one block walks through one image.
inline constexpr int kImageThreads = 512;
/// Entropy-coded bytes in which one thread block looks for restart markers.
inline constexpr std::uint32_t kMarkerTileBytes = 32 << 10;
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
