// Launch constants of the CUDA codec that templates and shared memory need at compile time. Those
// behind #ifndef can be set on the compiler's command line, so that one bench run can compare
// several builds. Values that can change without a build are in tuning.hpp.
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

/// Longest subsequence: file bytes that one thread decodes in large batches; a multiple of 16.
/// Shorter ones make more threads, but more resynchronisation. Small batches take shorter ones, to
/// have threads enough (decode/choose_layout.hpp).
inline constexpr int kMaxSubsequenceBytes = FW_SUBSEQUENCE_BYTES;
/// Shortest subsequence that may be asked for.
inline constexpr int kMinSubsequenceBytes = 16;
/// Bits that index the lookup tables of entry.hpp. Longer codes have tables of their own.
inline constexpr int kTableBits = FW_TABLE_BITS;
/// Bits that index the tables with values. Measured: decode/coefficients.cu.
inline constexpr int kStepBits = FW_STEP_BITS;
/// Elements of the table of long codes, by 16-bit window. The standard codes need 640 above 9 bits;
/// a code that needs more falls back to walking its lengths.
inline constexpr int kLongEntries = 640;
/// Threads of a block of the unstuffing and writing kernels, one subsequence each. Every scan's
/// subsequences begin at a multiple of it.
inline constexpr int kSpanThreads = 256;
/// Threads of a block of the synchronising kernel, and subsequences of each thread, which exchange
/// states. Several a thread, so that those in need of repair fill whole warps. Measured:
/// decode/synchronise.cu.
inline constexpr int kSyncThreads = FW_SYNC_THREADS;
inline constexpr int kSyncShare = FW_SYNC_SHARE;
/// Thread blocks of the writing kernel that a multiprocessor must hold: this bounds its registers.
/// Measured: decode/coefficients.cu.
inline constexpr int kWriteBlocks = FW_WRITE_BLOCKS;
/// The same for the kernel that keeps whole dct_blocks.
inline constexpr int kFullWriteBlocks = FW_FULL_WRITE_BLOCKS;

/// What one component of a progressive file may have for the device to decode it: bytes of its
/// longest first scan, or of all its refinements, and blocks that these pass, each counted once a
/// scan. A lane decodes them one after the other: at a guess of 0.3 µs a symbol this is a second.
inline constexpr std::uint32_t kMaxChainBytes = 2 << 20;
inline constexpr std::uint32_t kMaxChainBlocks = 4 << 20;
/// Scans of such a file. Usual scripts have ten to twenty.
inline constexpr std::size_t kMaxProgressiveScans = 32;

/// Threads of kernels in which one thread block walks through one image.
inline constexpr int kImageThreads = 512;
/// Entropy-coded bytes in which one thread block looks for restart markers.
inline constexpr std::uint32_t kMarkerTileBytes = 32 << 10;
/// dct_blocks that one thread block inverts, transforms or encodes.
inline constexpr int kBlocksPerTile = 256;
/// Tile of the resampler, in output samples.
inline constexpr int kTileWidth = 64;
inline constexpr int kTileHeight = 32;
/// Output rows that one thread of the resampler makes together.
inline constexpr int kRowGroup = 4;
inline constexpr int kResampleThreads = 256;
/// Source rows that one tile may need. This bounds shared memory, and so the filter's support.
inline constexpr int kTileSourceRows = 160;
/// Threads of a block of the kernel that makes filter weights, an output sample each; a multiple of
/// kRowGroup.
inline constexpr int kWeightThreads = 128;
/// Threads, and side of the square tile, of the stages between resampling and encoding.
inline constexpr int kPostProcessThreads = 256;
inline constexpr int kPostProcessTile = 32;
/// Threads of the resampling kernels of resample_long.cu.
inline constexpr int kLongThreads = 256;
/// Raw entropy-coded bytes that a dct_block may take on average before the device gives the image
/// up. Quality 100 on noise stays below it.
inline constexpr int kRawBytesPerBlock = 96;

}  // namespace framewire::codec::cuda
