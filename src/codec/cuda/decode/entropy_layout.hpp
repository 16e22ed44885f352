// How long a batch's subsequences are, and what is kept of each.
#pragma once

#include <codec/cuda/tuning.h>
#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

struct EntropyLayout {
  std::uint32_t subsequence_bytes = kMaxSubsequenceBytes;
  std::uint32_t sync_share = kSyncShare;  ///< subsequences a thread; 1 or kSyncShare
  std::uint32_t warm_bits = 0;
  std::uint32_t traced = 0;  ///< whether every possible start is followed (trace.hpp)
  // @see Tuning
  std::uint32_t sync_rounds = 0;
  std::uint32_t chain_rounds = 0;
  std::uint32_t chain_length = 0;
  std::uint32_t many_scans = 0;
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

/// Words of a column: the subsequence, two words of its successors for its last symbol, and one
/// that is read ahead.
FW_HD constexpr std::uint32_t column_words(std::uint32_t subsequence_bytes) {
  return subsequence_bytes / 4 + 3;
}

/// Repair steps for subsequences of another length, so that repair reaches equally far in bytes.
FW_HD constexpr std::uint32_t repair_steps(std::uint32_t steps, std::uint32_t subsequence_bytes) {
  return steps * (kMaxSubsequenceBytes / subsequence_bytes);
}

}  // namespace framewire::codec::cuda
