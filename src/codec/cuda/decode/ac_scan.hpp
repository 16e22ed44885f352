// Decodes the AC scans of progressive files: a chain of symbols for each scan, then all blocks.
//
// Source: ITU-T T.81 G.1.2.2 (first scans) and G.1.2.3 (refinement). What cannot be done in
// parallel is to find where the data of each block begins: codes have no fixed lengths, and how
// many correction bits stand between them depends on which coefficients are not zero yet. So a
// chain finds just that. As in the CPU codec (codec/turbo/block_decoding.cpp) a block's history is
// a mask of 64 bits, so that nothing loops over coefficients.
#pragma once

#include <base/host_device.hpp>
#include <codec/cuda/decode/ac_descriptors.hpp>
#include <codec/cuda/decode/block_levels.hpp>
#include <codec/cuda/decode/word_bits.hpp>
#include <codec/cuda/status_bits.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

FW_HD inline int count_bits(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return __popcll(bits);
#else
  return __builtin_popcountll(bits);
#endif
}
/// @param bits  not 0
FW_HD inline int lowest_bit(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(bits)) - 1;
#else
  return __builtin_ctzll(bits);
#endif
}
/// Bits `first` to `last`, which are at most 63.
FW_HD inline std::uint64_t band_mask(std::uint32_t first, std::uint32_t last) {
  return ~std::uint64_t{0} >> (63 - last) & ~std::uint64_t{0} << first;
}

/// A code that has been looked at. A length of 0 means that the bits are no code.
struct AcCode {
  std::uint32_t symbol = 0;
  int length = 0;

  FW_HD std::uint32_t size() const { return symbol & 15; }
  FW_HD std::uint32_t zeros() const { return symbol >> 4; }
  /// Whether it is of class EOBn: it ends this block, and may end others.
  FW_HD bool ends_blocks() const { return size() == 0 && zeros() != 15; }
};

/// A code that is longer than the lookup table's index.
FW_HD inline AcCode walk_ac_code(const CanonicalCode& code, std::uint32_t window16) {
  for (int length = kAcLookupBits + 1; length <= 16; ++length) {
    if (window16 >= code.limit[length]) continue;
    const std::int32_t at =
        static_cast<std::int32_t>(window16 >> (16 - length)) + code.offset[length];
    return {code.values[at & 0xFF], length};
  }
  return {};
}

/// Looks at the next code, without dropping it. It and 15 bits behind it are available.
/// @param entries  AcLookup::entries, or a copy of them
FW_HD inline AcCode peek_code(WordBits& bits, const std::uint16_t* entries,
                              const CanonicalCode& code) {
  bits.refill();
  const auto window = static_cast<std::uint32_t>(bits.window() >> 32);
  const std::uint32_t entry = entries[window >> (32 - kAcLookupBits)];
  if (entry != 0) return {entry >> 8, static_cast<int>(entry & 0xFF)};
  return walk_ac_code(code, window >> 16);
}

/// Drops a code that ends blocks, and reads how many, the present one included.
FW_HD inline std::uint32_t take_run(WordBits& bits, const AcCode& code) {
  const std::uint32_t n = code.zeros();
  const auto more = static_cast<std::uint32_t>(bits.window() << code.length >> 49);  // 15 bits
  bits.drop(code.length + static_cast<int>(n));
  return (1u << n) + (more >> (15 - n));
}

/// Where bits lie that are set: the n-th one among 8, for every 8 bits.
class NthBits {
 public:
  static constexpr std::uint32_t kNone = 15;
  /// @return of 4 bits each, lowest first: the place of the n-th bit, or kNone
  FW_HD static std::uint32_t row(std::uint32_t bits8) {
    std::uint32_t row = 0;
    for (std::uint32_t n = 0; n < 8; ++n) {
      const std::uint32_t place =
          bits8 != 0 ? static_cast<std::uint32_t>(lowest_bit(bits8)) : kNone;
      row |= place << (4 * n);
      bits8 &= bits8 - 1;
    }
    return row;
  }
  /// @param rows  row() of 0 to 255
  FW_HD explicit NthBits(const std::uint32_t* rows) : rows_(rows) {}
  FW_HD std::uint32_t find(std::uint64_t bits, std::uint32_t n) const {
    return n < 8 ? rows_[bits & 0xFF] >> (4 * n) & 15 : kNone;
  }

 private:
  const std::uint32_t* rows_;
};

/// What chains of both kinds share: blocks, restart markers, the end, faults.
class AcCursor {
 public:
  FW_HD AcCursor(const AcScanDesc& scan, std::uint32_t blocks)
      : bits(scan.words, scan.word_count, 0),
        scan_(scan),
        left_(blocks < scan.segment_blocks ? blocks : scan.segment_blocks) {}

  /// Passes blocks, which are not more than has() allows. @param remaining  blocks of the scan
  /// behind them
  FW_HD void pass(std::uint32_t count, std::uint32_t remaining) {
    left_ -= count;
    if (left_ == 0) end_segment(remaining);
  }
  /// Whether a run of blocks stays within its segment.
  FW_HD bool has(std::uint32_t blocks) const { return blocks <= left_; }

  WordBits bits;
  std::uint32_t faults = 0;  ///< StatusBit; 0 as long as the data is clean

 private:
  FW_HD void end_segment(std::uint32_t remaining) {
    const std::uint32_t end = scan_.segment_ends[segment_++] * 8;
    const std::uint32_t at = bits.position();
    if (at > end) faults |= kTruncated;
    if (at + 8 <= end) faults |= kExtraneous;
    if (remaining == 0) return;
    bits.seek(end);
    left_ = remaining < scan_.segment_blocks ? remaining : scan_.segment_blocks;
  }

  const AcScanDesc& scan_;
  std::uint32_t left_;  ///< blocks of this segment
  std::uint32_t segment_ = 0;
};

/// Finds where each block of a first scan begins, a symbol a turn. Nothing leaves the middle of a
/// turn, so that lanes of a warp meet at its end.
class FirstAcChain {
 public:
  FW_HD FirstAcChain(const AcScanDesc& scan, std::uint32_t blocks, const std::uint16_t* entries)
      : scan_(scan), entries_(entries), blocks_(blocks), cursor_(scan, blocks), k_(scan.first) {}

  FW_HD bool goes_on() const { return block_ < blocks_ && cursor_.faults == 0; }
  FW_HD std::uint32_t faults() const { return cursor_.faults; }

  FW_HD void turn() {
    WordBits& bits = cursor_.bits;
    const AcCode code = peek_code(bits, entries_, scan_.table->code);
    if (code.length == 0) {
      cursor_.faults |= kBadCode;
      return;
    }
    std::uint32_t passed = 0;
    if (!code.ends_blocks()) {
      if (k_ == scan_.first) scan_.starts[block_] = kBlockCoded | bits.position();
      bits.drop(code.length + static_cast<int>(code.size()));
      k_ += code.zeros() + 1;
      if (k_ > scan_.last + 1) cursor_.faults |= kBadCode;
      passed = k_ > scan_.last ? 1 : 0;
    } else {
      passed = take_run(bits, code);
      if (!cursor_.has(passed)) cursor_.faults |= kBadCode;
    }
    if (passed == 0 || cursor_.faults != 0) return;
    k_ = scan_.first;
    block_ += passed;
    cursor_.pass(passed, blocks_ - block_);
  }

 private:
  const AcScanDesc& scan_;
  const std::uint16_t* entries_;
  const std::uint32_t blocks_;
  AcCursor cursor_;
  std::uint32_t block_ = 0;
  std::uint32_t k_;
};

/// The same for a refinement, where the history of a block may not be known yet: turn() then does
/// nothing.
/// @tparam Known  known(): of how many blocks the history before this scan is known;
///                tell(blocks): of how many the one after it is
template <typename Known>
class RefinementChain {
 public:
  FW_HD RefinementChain(const AcScanDesc& scan, std::uint32_t blocks, const std::uint16_t* entries,
                        const NthBits& nth, const Known& known)
      : scan_(scan),
        entries_(entries),
        nth_(nth),
        known_(known),
        band_(band_mask(scan.first, scan.last)),
        blocks_(blocks),
        cursor_(scan, blocks),
        k_(scan.first) {
    look_ahead(0);
    begin_block();
  }

  FW_HD bool goes_on() const { return block_ < blocks_ && cursor_.faults == 0; }
  FW_HD std::uint32_t faults() const { return cursor_.faults; }

  FW_HD void turn() {
    if (!ready_) {
      look_ahead(block_);
      if (has_next_) begin_block();
      return;
    }
    WordBits& bits = cursor_.bits;
    bool block_ends = true;
    if (run_ == 0) {
      const AcCode code = peek_code(bits, entries_, scan_.table->code);
      if (code.length == 0 || code.size() > 1) {
        cursor_.faults |= kBadCode;
        return;
      }
      if (k_ == scan_.first) scan_.starts[block_] = kBlockCoded | bits.position();
      if (code.ends_blocks()) {
        run_ = take_run(bits, code);
        if (!cursor_.has(run_)) cursor_.faults |= kBadCode;
      } else {
        block_ends = pass_zeros(code);
      }
    } else if (free_ != band_ >> scan_.first) {
      scan_.starts[block_] = kBlockInRun | bits.position();
    }
    if (!block_ends || cursor_.faults != 0) return;
    if (run_ != 0) {
      --run_;
      bits.skip(static_cast<int>(scan_.last + 1 - k_) - count_bits(free_));
    }
    end_block();
  }

 private:
  /// Passes a symbol, and the corrections before the coefficient that it is about. @return whether
  /// that is the block's last
  FW_HD bool pass_zeros(const AcCode& code) {
    std::uint32_t zeros = code.zeros();
    std::uint32_t target = k_;
    std::uint32_t place = nth_.find(free_, zeros);
    while (place == NthBits::kNone && target <= scan_.last) {
      zeros -= static_cast<std::uint32_t>(count_bits(free_ & 0xFF));
      free_ >>= 8;
      target += 8;
      place = nth_.find(free_, zeros);
    }
    target += place;
    if (place == NthBits::kNone || target > scan_.last) {
      cursor_.faults |= kBadCode;
      return false;
    }
    free_ >>= place + 1;
    const auto corrections = static_cast<int>(target - k_ - code.zeros());
    cursor_.bits.skip(code.length + static_cast<int>(code.size()) + corrections);
    if (code.size() != 0) found_ |= std::uint64_t{1} << target;
    k_ = target + 1;
    return k_ > scan_.last;
  }

  FW_HD void end_block() {
    if (scan_.after != nullptr) {
      scan_.after[block_] = history_ | found_;
      known_.tell(block_ + 1);
    }
    ++block_;
    cursor_.pass(1, blocks_ - block_);
    begin_block();
  }
  /// Goes on with what look_ahead() has found, and looks ahead further.
  FW_HD void begin_block() {
    ready_ = has_next_;
    history_ = next_;
    free_ = (~next_ & band_) >> scan_.first;
    found_ = 0;
    k_ = scan_.first;
    has_next_ = false;
    if (ready_) look_ahead(block_ + 1);
  }
  /// Loads a history a block before it is needed, as memory answers late.
  FW_HD void look_ahead(std::uint32_t block) {
    if (block >= blocks_ || known_.known() <= block) return;
    next_ = scan_.before[block];
    has_next_ = true;
  }

  const AcScanDesc& scan_;
  const std::uint16_t* entries_;
  const NthBits nth_;
  Known known_;
  const std::uint64_t band_;
  const std::uint32_t blocks_;
  AcCursor cursor_;
  std::uint64_t history_ = 0;  ///< of this block
  std::uint64_t next_ = 0;     ///< of the block behind it, or of this one while !ready_
  std::uint64_t free_ = 0;     ///< bit i: coefficient k_ + i is of the band, and has been zero
  std::uint64_t found_ = 0;    ///< coefficients of this block that are not zero any more
  std::uint32_t block_ = 0;
  std::uint32_t k_;
  std::uint32_t run_ = 0;  ///< blocks without codes, this one included
  bool ready_ = false;     ///< whether history_ is known
  bool has_next_ = false;
};

/// A level as sign and magnitude. @param tail  additional bits at the top; @param size  how many
FW_HD inline std::uint32_t signed_level(std::uint32_t tail, std::uint32_t size,
                                        std::uint32_t low_bit) {
  const std::int32_t value = extend(tail, size);
  return value < 0 ? 0x8000u | static_cast<std::uint32_t>(-value) << low_bit
                   : static_cast<std::uint32_t>(value) << low_bit;
}

/// Decodes what a first scan sends for one block, once a chain has found where that begins.
/// @param order    natural positions of the coefficients in the order sent
/// @param found    gets bits of coefficients that are not zero
/// @return StatusBit
FW_HD inline std::uint32_t decode_first_block(const AcScanDesc& scan, std::uint32_t block,
                                              const BlockLevels& place, const std::uint8_t* order,
                                              std::int16_t* levels, std::uint64_t& found) {
  const std::uint32_t start = scan.starts[block];
  if (start == 0) return 0;
  WordBits bits(scan.words, scan.word_count, start & kBlockStart);
  for (std::uint32_t k = scan.first; k <= scan.last; ++k) {
    const AcCode code = peek_code(bits, scan.table->entries, scan.table->code);
    if (code.ends_blocks()) return 0;
    const std::uint32_t size = code.size();
    const auto tail = static_cast<std::uint32_t>(bits.window() << code.length >> 32);
    bits.drop(code.length + static_cast<int>(size));
    k += code.zeros();
    if (k > scan.last || size > 15 - scan.low_bit) return kBadCode;
    if (size == 0) continue;
    found |= std::uint64_t{1} << k;
    if ((place.kept() >> k & 1) == 0) continue;
    levels[place.index(order[k])] =
        static_cast<std::int16_t>(signed_level(tail, size, scan.low_bit));
  }
  return 0;
}

/// Sets the low bits of levels for which a correction of 1 was sent.
/// @param passed  coefficients that have one, in the order sent
FW_HD inline void correct_levels(std::uint64_t passed, WordBits& bits, const AcScanDesc& scan,
                                 const BlockLevels& place, const std::uint8_t* order,
                                 std::int16_t* levels) {
  int behind = count_bits(passed);
  const std::uint64_t sent = bits.take(behind);
  if (sent == 0) return;
  for (; passed != 0; passed &= passed - 1) {
    --behind;
    const int k = lowest_bit(passed);
    if ((sent >> behind & 1) == 0 || (place.kept() >> k & 1) == 0) continue;
    std::int16_t& level = levels[place.index(order[k])];
    level = static_cast<std::int16_t>(static_cast<std::uint32_t>(level) | 1u << scan.low_bit);
  }
}

/// The same for a refinement. @param history  of the block before the scan, then behind it
FW_HD inline void refine_block(const AcScanDesc& scan, std::uint32_t block,
                               const BlockLevels& place, const std::uint8_t* order,
                               std::int16_t* levels, std::uint64_t& history) {
  const std::uint32_t start = scan.starts[block];
  if (start == 0) return;
  WordBits bits(scan.words, scan.word_count, start & kBlockStart);
  std::uint64_t rest = band_mask(scan.first, scan.last);
  std::uint64_t found = 0;
  while (rest != 0 && (start & kBlockCoded) != 0) {
    const AcCode code = peek_code(bits, scan.table->entries, scan.table->code);
    if (code.ends_blocks()) {
      (void)take_run(bits, code);
      break;
    }
    const bool negative = (bits.window() << code.length >> 63) == 0;
    bits.drop(code.length + static_cast<int>(code.size()));
    std::uint64_t free = ~history & rest;
    for (std::uint32_t zeros = code.zeros(); zeros != 0; --zeros) free &= free - 1;
    const std::uint64_t bit = free & ~(free - 1);
    correct_levels(history & rest & (bit - 1), bits, scan, place, order, levels);
    rest &= ~(bit | (bit - 1));
    if (code.size() == 0) continue;
    found |= bit;
    if ((place.kept() & bit) == 0) continue;
    const std::uint32_t sign = negative ? 0x8000u : 0u;
    levels[place.index(order[lowest_bit(bit)])] =
        static_cast<std::int16_t>(sign | 1u << scan.low_bit);
  }
  correct_levels(history & rest, bits, scan, place, order, levels);
  history |= found;
}

}  // namespace framewire::codec::cuda
