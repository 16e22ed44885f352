// Finds where the data of each block of an AC scan begins, from the scan's first bit to its last.
//
// A lane follows one chain of codes, and what counts is how many instructions wait for one another
// from one code to the next. So words, codes and histories lie in shared memory when they are
// needed, brought there by all lanes of the warp (ChainFeed), and a position in the data is all
// that a code changes.
#pragma once

#include <cuda_runtime_api.h>
#include <base/host_device.hpp>
#include <codec/cuda/decode/ac_scan.hpp>
#include <codec/cuda/decode/near_array.hpp>
#include <codec/cuda/status_bits.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Where the n-th of 8 bits lies that are set.
namespace nth_bit {

/// @return a row of 4 bits for each n, the lowest ones for 0: one more than the place; 0 for none
FW_HD inline std::uint32_t make_row(std::uint32_t bits8) {
  std::uint32_t row = 0;
  for (std::uint32_t n = 0; bits8 != 0; ++n, bits8 &= bits8 - 1) {
    row |= (static_cast<std::uint32_t>(lowest_bit(bits8)) + 1) << (4 * n);
  }
  return row;
}
/// @param n  up to 15
FW_HD inline std::uint32_t find(std::uint32_t row, std::uint32_t n) {
  return static_cast<std::uint32_t>(std::uint64_t{row} >> (4 * n)) & 15;
}

}  // namespace nth_bit

/// A code as a chain needs it: what it drops with its additional bits, the zeros that it passes, or
/// for class EOBn the number of those bits, and what it is. 0 for none.
namespace chain_code {

inline constexpr std::uint32_t kFinds = 1u << 13;  ///< a coefficient that is not zero
inline constexpr std::uint32_t kEnds = 1u << 14;   ///< the block, and maybe others: class EOBn

FW_HD inline std::uint32_t make(const AcCode& code, bool refines) {
  if (code.length == 0 || (refines && code.size() > 1)) return 0;
  const bool ends = code.ends_blocks();
  const std::uint32_t more = ends ? code.zeros() : code.size();
  return (static_cast<std::uint32_t>(code.length) + more) | code.zeros() << 8 |
         (code.size() != 0 ? kFinds : 0) | (ends ? kEnds : 0);
}
FW_HD inline std::uint32_t dropped(std::uint32_t code) { return code & 31; }
FW_HD inline std::uint32_t zeros(std::uint32_t code) { return code >> 8 & 15; }
/// How many blocks a code of class EOBn ends. @param window  32 bits that begin with the code
FW_HD inline std::uint32_t run(std::uint32_t code, std::uint32_t window) {
  const std::uint32_t one = 1u << zeros(code);
  return one + (window >> 1 >> (31 - dropped(code)) & (one - 1));
}

}  // namespace chain_code

/// What a chain reads, in shared memory. Rings hold the elements from where the chain is.
struct ChainStore {
  static constexpr std::uint32_t kWords = 64;
  static constexpr std::uint32_t kHistories = 16;

  std::uint16_t codes[1 << kAcLookupBits];  ///< chain_code
  std::uint32_t words[kWords + 4];  ///< of AcScanDesc::words; the first one again at the end
  unsigned long long histories[kHistories];
  // Progress of the chain, which the feed reads between groups of steps, and of the feed.
  std::uint32_t bit;
  std::uint32_t block;
  std::uint32_t known;         ///< blocks whose history behind this scan is known
  std::uint32_t words_in;      ///< words that the feed has stored, from the scan's first one on
  std::uint32_t histories_in;  ///< histories that it has stored, likewise
};

/// What chains of both kinds share.
class AcChain {
 public:
  FW_HD AcChain(const AcScanDesc& scan, std::uint32_t blocks, ChainStore& store)
      : scan_(scan),
        store_(store),
        codes_(store.codes),
        words_(store.words),
        blocks_(blocks),
        left_(blocks < scan.segment_blocks ? blocks : scan.segment_blocks),
        end_(scan.segment_ends[0] * 8),
        k_(scan.first) {}

  FW_HD bool goes_on() const { return block_ < blocks_ && faults_ == 0; }
  /// StatusBit; 0 as long as the data is clean.
  FW_HD std::uint32_t faults() const { return faults_; }

 protected:
  /// Looks how many words have come.
  FW_HD void look() { words_end_ = store_.words_in > 1 ? (store_.words_in - 1) * 32 : 0; }
  /// Whether the next 32 bits are there.
  FW_HD bool has_window() const { return bit_ < words_end_; }
  FW_HD std::uint32_t window() const {
    const std::uint32_t at = (bit_ / 32) % ChainStore::kWords;
#if defined(__CUDA_ARCH__)
    return __funnelshift_l(words_[at + 1], words_[at], bit_);
#else
    return static_cast<std::uint32_t>((std::uint64_t{words_[at]} << 32 | words_[at + 1]) >>
                                      (32 - bit_ % 32));
#endif
  }
  /// Most codes: those that the table holds.
  FW_HD std::uint32_t short_code(std::uint32_t window) const {
    return codes_[window >> (32 - kAcLookupBits)];
  }
  FW_HD std::uint32_t long_code(std::uint32_t window, bool refines) const {
    return chain_code::make(walk_ac_code(scan_.table->code, window >> 16), refines);
  }
  /// Passes blocks of this segment.
  FW_HD void pass(std::uint32_t count) {
    block_ += count;
    left_ -= count;
    k_ = scan_.first;
    if (bit_ > end_) faults_ |= kTruncated;
    if (left_ == 0) end_segment();
  }

  const AcScanDesc& scan_;
  ChainStore& store_;
  const NearArray<std::uint16_t> codes_;
  const NearArray<std::uint32_t> words_;
  const std::uint32_t blocks_;
  std::uint32_t left_;           ///< blocks of this segment
  std::uint32_t end_;            ///< bit behind this segment
  std::uint32_t words_end_ = 0;  ///< bit before which window() can begin
  std::uint32_t bit_ = 0;        ///< the next one
  std::uint32_t block_ = 0;
  std::uint32_t k_;  ///< the next coefficient
  std::uint32_t faults_ = 0;

 private:
  FW_HD void end_segment() {
    if (bit_ + 8 <= end_) faults_ |= kExtraneous;
    bit_ = end_;
    if (block_ == blocks_) return;
    end_ = scan_.segment_ends[++segment_] * 8;
    const std::uint32_t rest = blocks_ - block_;
    left_ = rest < scan_.segment_blocks ? rest : scan_.segment_blocks;
  }

  std::uint32_t segment_ = 0;
};

class FirstAcChain : public AcChain {
 public:
  using AcChain::AcChain;

  /// Before some steps: sees what the feed has stored.
  FW_HD void begin_steps() { look(); }
  /// Takes one code, if its bits are there.
  FW_HD void step() {
    if (!has_window() || !goes_on()) return;
    const std::uint32_t bits = window();
    std::uint32_t taken = short_code(bits);
    if (taken == 0) taken = long_code(bits, false);
    const bool ends = (taken & chain_code::kEnds) != 0;
    if (!ends && k_ == scan_.first) scan_.starts[block_] = kBlockCoded | bit_;
    k_ += ends ? 0 : chain_code::zeros(taken) + 1;
    const std::uint32_t run = ends ? chain_code::run(taken, bits) : 1;
    bit_ += chain_code::dropped(taken);
    if (taken == 0 || k_ > scan_.last + 1 || run > left_) faults_ |= kBadCode;
    if ((ends || k_ > scan_.last) && faults_ == 0) pass(run);
  }
  /// Behind some steps: tells the feed how far they came.
  FW_HD void end_steps() const {
    store_.bit = bit_;
    store_.block = block_;
  }
};

class RefinementChain : public AcChain {
 public:
  /// @param nth_rows  nth_bit::make_row() of 0 to 255
  FW_HD RefinementChain(const AcScanDesc& scan, std::uint32_t blocks, ChainStore& store,
                        const std::uint32_t* nth_rows)
      : AcChain(scan, blocks, store),
        nth_rows_(nth_rows),
        histories_(store.histories),
        band_(band_mask(scan.first, scan.last)) {}

  FW_HD void begin_steps() {
    look();
    histories_in_ = store_.histories_in;
  }
  /// Takes one code, or one block of a run, if bits and history are there. Computes everything for
  /// either case and then selects: a branch takes longer than the instructions that it saves.
  FW_HD void step() {
    if (!has_window() || block_ >= histories_in_ || faults_ != 0) return;
    const std::uint64_t history = histories_[block_ % ChainStore::kHistories];
    const std::uint32_t bits = window();
    const bool begins = k_ == scan_.first;
    const bool in_run = run_ != 0;
    std::uint64_t free = begins ? (~history & band_) >> scan_.first : free_;
    std::uint32_t taken = in_run ? chain_code::kEnds : short_code(bits);
    if (taken == 0) taken = long_code(bits, true);
    const bool ends = (taken & chain_code::kEnds) != 0;
    if (begins && (!in_run || (history & band_) != 0)) {
      scan_.starts[block_] = (in_run ? kBlockInRun : kBlockCoded) | bit_;
    }
    // A code that ends the block is followed by the corrections of what is left of it.
    const std::uint32_t rest = scan_.last + 1 - k_ - static_cast<std::uint32_t>(count_bits(free));
    const std::uint32_t run = in_run ? run_ : ends ? chain_code::run(taken, bits) : 0;
    // Any other code passes the coefficients up to the one that it is about.
    const std::uint32_t zeros = chain_code::zeros(taken);
    std::uint32_t place = nth_bit::find(nth_rows_[free & 0xFF], zeros);
    std::uint32_t passed = 0;
    if (place == 0 && !ends) passed = pass_eights(free, zeros, place);
    passed += place;
    if (taken == 0 || run > left_ || (passed == 0 && !ends)) faults_ |= kBadCode;
    bit_ += chain_code::dropped(taken) + (ends ? rest : passed - 1 - zeros);
    k_ += passed;
    free_ = free >> place;
    const std::uint64_t bit = (taken & chain_code::kFinds) != 0 ? 1 : 0;
    found_ = (begins ? history : found_) | bit << ((k_ - 1) & 63);
    run_ = run;
    if ((ends || k_ > scan_.last) && faults_ == 0) end_block();
  }
  FW_HD void end_steps() const {
    store_.bit = bit_;
    store_.block = block_;
    // Nobody may wait for a chain that has ended.
    store_.known = faults_ != 0 ? blocks_ : block_;
  }

 private:
  /// Goes on where a code's coefficient is none of the next eight. @param place  becomes that in
  /// the eight behind those that are passed; 0 for none. @return passed
  FW_HD std::uint32_t pass_eights(std::uint64_t& free, std::uint32_t zeros,
                                  std::uint32_t& place) const {
    std::uint32_t passed = 0;
    while (place == 0 && free != 0) {
      zeros -= static_cast<std::uint32_t>(count_bits(free & 0xFF));
      free >>= 8;
      passed += 8;
      place = nth_bit::find(nth_rows_[free & 0xFF], zeros);
    }
    return place == 0 ? 0 : passed;
  }
  FW_HD void end_block() {
    if (scan_.after != nullptr) scan_.after[block_] = found_;
    run_ -= run_ != 0 ? 1 : 0;
    pass(1);
  }

  const NearArray<std::uint32_t> nth_rows_;
  const NearArray<unsigned long long> histories_;
  const std::uint64_t band_;
  std::uint64_t free_ = 0;   ///< bit i: coefficient k_ + i is of the band, and has been zero
  std::uint64_t found_ = 0;  ///< the history of this block behind the scan, as far as it is known
  std::uint32_t run_ = 0;    ///< blocks without codes, this one included
  std::uint32_t histories_in_ = 0;
};

/// Brings words and histories to chains: each chain has `share` lanes of the warp for that, which
/// load in one call what they store in the next, so that nobody waits for memory.
class ChainFeed {
 public:
  /// Lanes of a chain at most.
  static constexpr std::uint32_t kMaxShare = 8;

  /// @param before  the chain whose history this one needs; null where all of it is known
  /// @param part    of this lane, below `share`
  FW_HD ChainFeed(const AcScanDesc& scan, std::uint32_t blocks, ChainStore& store,
                  const ChainStore* before, std::uint32_t part, std::uint32_t share)
      : words_(scan.words),
        histories_(scan.before),
        word_count_(scan.word_count),
        blocks_(blocks),
        store_(store),
        before_(before),
        part_(part),
        share_(share) {}

  /// Stores what load() has loaded.
  FW_HD void store() {
    if (has_words_) {
      const std::uint32_t at = (words_in_ + 4 * part_) % ChainStore::kWords;
      const std::uint32_t words[] = {loaded_words_.x, loaded_words_.y, loaded_words_.z,
                                     loaded_words_.w};
      for (std::uint32_t i = 0; i < 4; ++i) store_.words[at + i] = words[i];
      if (at == 0) store_.words[ChainStore::kWords] = words[0];
      words_in_ += 4 * share_;
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      const std::uint32_t at = 2 * part_ + i;
      if (at >= new_histories_) continue;
      store_.histories[(histories_in_ + at) % ChainStore::kHistories] = loaded_histories_[i];
    }
    histories_in_ += new_histories_;
    if (part_ != 0) return;
    store_.words_in = words_in_;
    store_.histories_in = histories_in_;
  }
  /// Loads what there is room for. The chain has told where it is.
  FW_HD void load() {
    has_words_ = words_in_ + 4 * share_ <= store_.bit / 32 + ChainStore::kWords;
    const std::uint32_t word = words_in_ + 4 * part_;
    loaded_words_ = {};
    if (has_words_ && word < word_count_) {
      loaded_words_ = *reinterpret_cast<const uint4*>(words_ + word);
    }
    new_histories_ = 0;
    if (histories_ == nullptr) return;
    const std::uint32_t known = before_ != nullptr ? before_->known : blocks_;
    const std::uint32_t end = smaller(known, store_.block + ChainStore::kHistories);
    if (end <= histories_in_) return;
    new_histories_ = smaller(end - histories_in_, 2 * share_);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const std::uint32_t at = 2 * part_ + i;
      if (at < new_histories_) loaded_histories_[i] = histories_[histories_in_ + at];
    }
  }

 private:
  FW_HD static std::uint32_t smaller(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

  const std::uint32_t* words_;
  const unsigned long long* histories_;
  const std::uint32_t word_count_;
  const std::uint32_t blocks_;
  ChainStore& store_;
  const ChainStore* before_;
  const std::uint32_t part_;
  const std::uint32_t share_;
  std::uint32_t words_in_ = 0;
  std::uint32_t histories_in_ = 0;
  bool has_words_ = false;
  std::uint32_t new_histories_ = 0;
  uint4 loaded_words_{};
  unsigned long long loaded_histories_[2]{};
};

}  // namespace framewire::codec::cuda
