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
  std::uint32_t enumerates = 0;  ///< whether all candidate states are followed
  // @see Tuning
  std::uint32_t sync_rounds = 0;
  std::uint32_t chain_rounds = 0;
  std::uint32_t chain_length = 0;
  std::uint32_t many_scans = 0;
};

/// Candidate states that are kept of one subsequence: most MCUs have up to 6 phases; the other
/// slots are for states that were followed into it.
inline constexpr std::uint32_t kCandidates = 8;
/// Candidate states at the start of one subsequence (packed, span_decoder.hpp), and where each
/// leads.
struct alignas(16) Candidates {
  std::uint16_t entry[kCandidates];
  std::uint16_t exit[kCandidates];
  std::uint16_t blocks[kCandidates];  ///< completed
  std::uint32_t initial;              ///< how many of the first slots do not change any more
  std::uint32_t count;                ///< of all; may run beyond kCandidates
};

/// Which candidate of a subsequence continues each candidate of an earlier one, 4 bits each.
struct CandidateMap {
  std::uint32_t map;
  std::uint32_t restarted;  ///< a segment begins in between
};

/// Blocks completed since the segment began.
struct SegmentSum {
  std::uint32_t blocks;
  std::uint32_t restarted;  ///< a segment begins in between
};

/// Words of a column, in pairs: the subsequence, two words of its successors for its last symbol,
/// and two that are read ahead.
FW_HD constexpr std::uint32_t column_words(std::uint32_t subsequence_bytes) {
  return subsequence_bytes / 4 + 4;
}

/// Repair steps for subsequences of another length, so that repair reaches equally far in bytes.
FW_HD constexpr std::uint32_t repair_steps(std::uint32_t steps, std::uint32_t subsequence_bytes) {
  return steps * (kMaxSubsequenceBytes / subsequence_bytes);
}

}  // namespace framewire::codec::cuda
