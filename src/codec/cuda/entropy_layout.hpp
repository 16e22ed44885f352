// Into how short pieces a batch's entropy-coded data is cut: many and short ones where a batch is
// too small to fill the device otherwise.
#pragma once

#include <codec/cuda/tuning.h>
#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

struct EntropyLayout {
  std::uint32_t subsequence_bytes = kMaxSubsequenceBytes;
  std::uint32_t sync_share = kSyncShare;  ///< subsequences a thread; 1 or kSyncShare
  std::uint32_t warm_bits = kWarmBits;
  std::uint32_t traced = 0;  ///< whether every possible start is followed (trace.hpp)
};

/// Paths that are kept of one subsequence: of most MCUs every phase, and some that were followed
/// on.
inline constexpr std::uint32_t kPaths = 8;
/// Ways through one subsequence, by the state at its start (packed, span_decoder.hpp).
struct alignas(16) Paths {
  std::uint16_t entry[kPaths];
  std::uint16_t exit[kPaths];
  std::uint16_t blocks[kPaths];  ///< completed
  std::uint32_t guessed;         ///< the first of them, which do not change any more
  std::uint32_t count;           ///< of all; may run beyond kPaths
};

/// Which path of a subsequence goes on with each path of an earlier one, 4 bits each.
struct Link {
  std::uint32_t map;
  std::uint32_t restarted;  ///< a segment begins in between
};

/// Blocks completed since the segment began.
struct SegmentSum {
  std::uint32_t blocks;
  std::uint32_t restarted;  ///< a segment begins in between
};

/// Words of a column: the subsequence, and three that reach into its successors: two for the last
/// symbol, one that is read ahead.
FW_HD constexpr std::uint32_t column_words(std::uint32_t subsequence_bytes) {
  return subsequence_bytes / 4 + 3;
}

/// So that repair reaches equally far in bytes, whatever the size.
FW_HD constexpr std::uint32_t repair_steps(std::uint32_t steps, std::uint32_t subsequence_bytes) {
  return steps * (kMaxSubsequenceBytes / subsequence_bytes);
}

/// Every size that choose_layout() may choose, and for how much entropy-coded data; the first for
/// kLoneImages or fewer alone.
struct SubsequenceSize {
  std::uint32_t bytes;
  std::uint64_t below_bytes;
};
inline constexpr SubsequenceSize kSubsequenceSizes[] = {{kLoneSubsequenceBytes, kLoneBatchBytes},
                                                        {kTinySubsequenceBytes, kTinyBatchBytes},
                                                        {128, kSmallBatchBytes},
                                                        {kMaxSubsequenceBytes, UINT64_MAX}};

/// Measured (H200, 373 KB images, one stream; synchronise and write, µs an image): at 12 images 34
/// with 64 bytes and one a thread, 47 with 128, 89 with 256 and four a thread; at 64 images 13 with
/// 128 instead of 19 with 256; at 512 it is 7.8 instead of 7.1. Where several streams fill the
/// device, that surplus counts earlier: batches of 64 on 12 streams decode 73,400 images/s with 256
/// and 63,500 with 128.
/// One image alone (H100, from bytes to bytes, medians over 12 images at 1920×1080 and at
/// 1280×720, of three runs; bytes of a subsequence / bits of warm-up): 64/1024 336 and 307 µs;
/// 32/1024 323 and 280; 32/768 304 and 265; 32/512 302 and 267, but 82 µs of repair where the
/// largest picture needs it. In another run 32/512 made 305 and 260, 32/256 351 and 300, 16/512 316
/// and 270.
/// @param entropy_bytes  of the whole batch
[[nodiscard]] constexpr EntropyLayout choose_layout(std::uint64_t entropy_bytes,
                                                    std::size_t images) {
  if (entropy_bytes < kLoneBatchBytes && images <= kLoneImages)
    return {kLoneSubsequenceBytes, 1, kLoneWarmBits, 1};
  if (entropy_bytes < kTinyBatchBytes) return {kTinySubsequenceBytes, 1, kTraceWarmBits, 1};
  if (entropy_bytes < kSmallBatchBytes) return {128, 1, kLongWarmBits, 0};
  return {};
}

}  // namespace framewire::codec::cuda
