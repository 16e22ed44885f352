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
#define FW_SYNC_SHARE 2
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
/// Thread blocks of it that a multiprocessor must hold: this bounds registers to 40.
inline constexpr int kSyncBlocks = 6;
/// Thread blocks of the writing kernel that a multiprocessor must hold: this bounds its registers.
/// Measured: decode/coefficients.cu.
inline constexpr int kWriteBlocks = FW_WRITE_BLOCKS;
/// The same for the kernel that keeps whole dct_blocks.
inline constexpr int kFullWriteBlocks = FW_FULL_WRITE_BLOCKS;

/// Subsequences of a thread block of the kernels that follow candidate states, which have one
/// thread for each candidate: 32 of 8 make 256 threads, as kSpanThreads.
inline constexpr std::uint32_t kCandidateSpan = 32;
/// Subsequences through which an end without a matching candidate is followed. Of three photographs
/// none needed more than two: decode/candidate_states.cu.
inline constexpr int kMaxExtensions = 8;
/// Threads, and thread blocks a pair of tables, of the kernel that builds lookup tables. Several,
/// because with one image in the batch all wait for them.
inline constexpr int kBuildThreads = 256;
inline constexpr int kBuildBlocks = 8;
/// Threads of a block that repairs the seams of a scan, one seam each at a time. Few, because a
/// scan has few seams, and chain_rounds rounds of them wait for one another.
inline constexpr int kSeamThreads = 64;
/// Neighbouring subsequences that one thread adds up, so that the loop over tiles has few rounds,
/// each of which waits for memory.
inline constexpr std::uint32_t kOffsetItems = 4;
/// Raw bytes that one thread looks at, one after the other, where a thread block walks through a
/// scan.
inline constexpr std::uint32_t kThreadBytes = 8;

/// Threads of a block of the full-size inverse DCT: eight for each dct_block, a row or a column
/// each.
inline constexpr int kFullThreads = 256;
/// Thread blocks of it that a multiprocessor must hold: this bounds registers to 40. With 47
/// registers, and so five thread blocks, all of decoding was 4 % slower (H200, 1920×1080).
inline constexpr int kFullResident = 6;

/// Threads of a block of the inverse DCT to reduced sizes, of kBlocksPerTile dct_blocks.
inline constexpr int kReducedThreads = 128;
/// The same for blocks that the picture fills only in part, of which up to kSide samples a side are
/// made, a column by a thread. Few: an image has some hundred such blocks, and with one image alone
/// all wait for them.
inline constexpr int kEdgeThreads = 128;
template <int kSide>
inline constexpr std::uint32_t kEdgesPerTile = kEdgeThreads / (kSide > 4 ? 8 : 4);

/// Threads of a block that builds the lookup table of an AC scan of a progressive file.
inline constexpr int kAcTableThreads = 128;
/// Codes that a chain takes in a round; in a refinement, plain ones behind one of any kind.
inline constexpr int kAcCodesPerRound = 4;
/// Times that a round takes as many plain ones again at most, and of how many lanes one must have
/// some for that. Measured: decode/ac_chains.cu.
inline constexpr int kAcMorePasses = 2;
inline constexpr int kAcPassShare = 2;
/// Rounds between two visits of a chain's feed. The two lanes that feed a chain where 16 share a
/// warp bring 8 words in a visit.
inline constexpr int kAcRoundsPerFeed = 4;
/// Groups of rounds between two times that a first scan's chain tells how far it is, which takes as
/// long as memory takes to answer.
inline constexpr std::uint32_t kAcGroupsPerPublication = 4;
/// dct_blocks of a component that one thread block decodes behind the chains, one thread each.
inline constexpr std::uint32_t kAcBlocksPerTile = 256;
/// Levels, and threads, of a thread block that turns levels into two's complement.
inline constexpr std::uint32_t kLevelsPerTile = 16384;
inline constexpr int kAssembleThreads = 256;

/// What one component of a progressive file may have for the device to decode it: bytes of its
/// longest first scan, or of all its refinements, and blocks that these pass, each counted once a
/// scan. A lane decodes them one after the other: a photograph's two codes a byte, of 0.15 µs each,
/// take a second; codes of a file that is made to be slow, which are never plain, some seconds.
inline constexpr std::uint32_t kMaxChainBytes = 4 << 20;
inline constexpr std::uint32_t kMaxChainBlocks = 2 << 20;
/// Scans of such a file. Usual scripts have ten to twenty.
inline constexpr std::size_t kMaxProgressiveScans = 32;

/// Threads of kernels in which one thread block walks through one image.
inline constexpr int kImageThreads = 512;
/// Entropy-coded bytes in which one thread block looks for restart markers.
inline constexpr std::uint32_t kMarkerTileBytes = 32 << 10;
/// dct_blocks that one thread block inverts, transforms or encodes.
inline constexpr int kBlocksPerTile = 256;
/// Raw bytes that one thread stuffs at once: read by one load, with the byte of marks beside them.
inline constexpr std::uint32_t kPieceBytes = 8;
/// Thread blocks that a stream is divided among for stuffing, at most, where there are few streams.
inline constexpr std::uint32_t kMaxStuffParts = 512;
/// Threads of a block that packs streams into the output; whole warps.
inline constexpr int kPackThreads = 256;
/// Thread blocks that store a batch's streams to the host. More of them fill the bus with stores
/// for a moment, and what comes in over it waits behind them. Measured (H200, 387 KB images of
/// 4:2:0 and 463 KB of 4:4:4, 85 and 70 a batch; images/s of an engine; a block a stream, which is
/// how it was; one machine each row):
///   blocks    85 or 70        16        8        4        2        1
///   4:2:0      119,200   118,500  124,200  121,800  123,400  124,500
///   4:2:0      120,700                     126,800
///   4:4:4       91,600                      96,300   96,100
inline constexpr int kPackBlocks = 4;
/// Threads of a block that chooses the next quality of a stream under a bound on its bytes.
inline constexpr int kSearchThreads = 128;
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
/// Threads of a block that copies rows of a plane to the caller's memory, a quad each; and thread
/// blocks a plane, each of which loops over the plane's quads.
inline constexpr unsigned kCopyThreads = 256;
inline constexpr std::uint32_t kMaxCopyBlocks = 1024;
/// Raw entropy-coded bytes that a dct_block may take on average before the device gives the image
/// up. Quality 100 on noise stays below it.
inline constexpr int kRawBytesPerBlock = 96;

}  // namespace framewire::codec::cuda
