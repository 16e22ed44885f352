// Finds where the data of each block of an AC scan begins, from the scan's first bit to its last.
//
// A lane follows one chain of codes, and what counts is how many instructions wait for one another
// from one code to the next. So words, codes and histories lie in shared memory when they are
// needed, brought there by all lanes of the warp (ChainFeed), and a position in the data is all
// that a code changes. Conditions are joined without short circuits, which would be branches.
#pragma once

#include <codec/cuda/tuning.h>
#include <cuda_runtime_api.h>
#include <base/host_device.hpp>
#include <codec/cuda/decode/ac_scan.hpp>
#include <codec/cuda/decode/chain_code.hpp>
#include <codec/cuda/decode/chain_store.hpp>
#include <codec/cuda/decode/near_array.hpp>
#include <codec/cuda/decode/progress.hpp>
#include <codec/cuda/status_bits.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// What chains of both kinds share.
template <bool kRefines>
class AcChain {
 public:
  using Store = ChainStore<kRefines>;

  FW_HD AcChain(const AcScanDesc& scan, std::uint32_t blocks, Store& store)
      : scan_(scan),
        store_(store),
        codes_(store.codes),
        words_(store.words),
        blocks_(blocks),
        far_(store.far),
        left_(blocks < scan.segment_blocks ? blocks : scan.segment_blocks),
        end_(scan.segment_ends[0] * 8),
        k_(scan.first) {}

  FW_HD bool goes_on() const { return block_ < blocks_ && faults_ == 0; }
  /// StatusBit; 0 as long as the data is clean.
  FW_HD std::uint32_t faults() const { return faults_; }

 protected:
  /// Looks which words have come.
  /// @tparam kBits  what the codes of a group take at most
  /// @return whether the chain goes on and all of these are there, so that no code looks for its
  /// own
  template <std::uint32_t kBits>
  FW_HD bool look() {
    // The first and the last word are there in part, and two more are read ahead.
    constexpr std::uint32_t kNeeded = kBits / 32 + 4;
    static_assert(kNeeded <= Store::kSureWords, "the chain would wait forever");
    read_window();
    return goes_on() && bit_ / 32 + kNeeded <= store_.words_in;
  }
  /// Goes to bit_ from anywhere.
  FW_HD void read_window() {
    window_ = read_bits(bit_);
    ahead_ = read_bits(bit_ + 32);
  }
  /// Drops less than 32 bits. The next code waits for one shift; what follows is read ahead.
  FW_HD void drop(std::uint32_t count) {
    window_ = shift_in(window_, ahead_, count);
    bit_ += count;
    ahead_ = read_bits(bit_ + 32);
  }
  /// The same without what follows: the window has the 64 bits of the last read_window().
  /// @param count  modulo 32; bits above do not count
  /// @param takes  whether to do so
  FW_HD void drop_from_window(std::uint32_t count, bool takes) {
    const std::uint32_t next = shift_in(window_, ahead_, count);
    const std::uint32_t ahead = ahead_ << (count & 31);
    window_ = takes ? next : window_;
    ahead_ = takes ? ahead : ahead_;
    bit_ += takes ? count & 31 : 0;
  }
  /// Most codes: those of the first table; kNone for others.
  FW_HD std::uint32_t near_code() const { return codes_.wide_at_top(window_, Store::kNearBits); }
  /// Those of both tables, for the time of a lookup and a choice; kNone for others.
  FW_HD std::uint32_t short_code() const {
    const std::uint32_t near = window_ >> (32 - Store::kNearBits);
    const std::uint32_t far = Store::kNear + far_.index(window_ >> 16);
    return codes_.wide(far_.has(window_ >> 16) ? far : near);
  }
  /// What near_code() has not found.
  FW_HD std::uint32_t long_code() const {
    const std::uint32_t bits = window_ >> 16;
    const std::uint32_t code =
        far_.has(bits) ? codes_.wide(Store::kNear + far_.index(bits)) : chain_code::kNone;
    return code != chain_code::kNone ? code : walk_code();
  }
  FW_HD std::uint32_t walk_code() const {
    return chain_code::make(walk_ac_code<Store::kNearBits>(scan_.table->code, window_ >> 16),
                            kRefines);
  }
  /// Passes blocks of this segment.
  FW_HD void pass(std::uint32_t count) {
    block_ += count;
    left_ -= count;
    if ((count != 0) & (bit_ > end_)) faults_ |= kTruncated;
    if ((count != 0) & (left_ == 0)) end_segment();
  }

  const AcScanDesc& scan_;
  Store& store_;
  const NearArray<std::uint16_t> codes_;
  const NearArray<std::uint32_t> words_;
  const std::uint32_t blocks_;
  const FarCodes far_;
  std::uint32_t left_;        ///< blocks of this segment
  std::uint32_t end_;         ///< bit behind this segment
  std::uint32_t bit_ = 0;     ///< the next one
  std::uint32_t window_ = 0;  ///< 32 bits from there
  std::uint32_t ahead_ = 0;   ///< and 32 behind them
  std::uint32_t block_ = 0;
  std::uint32_t k_;  ///< the next coefficient
  std::uint32_t faults_ = 0;

 private:
  FW_HD static std::uint32_t shift_in(std::uint32_t high, std::uint32_t low, std::uint32_t count) {
#if defined(__CUDA_ARCH__)
    return __funnelshift_l(low, high, count);
#else
    return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> (32 - count % 32));
#endif
  }
  FW_HD std::uint32_t read_bits(std::uint32_t bit) const {
    const std::uint32_t at = (bit / 32) % Store::kWords;
    return shift_in(words_[at], words_[at + 1], bit);
  }
  FW_HD void end_segment() {
    if (bit_ + 8 <= end_) faults_ |= kExtraneous;
    bit_ = end_;
    read_window();
    if (block_ == blocks_) return;
    end_ = scan_.segment_ends[++segment_] * 8;
    const std::uint32_t rest = blocks_ - block_;
    left_ = rest < scan_.segment_blocks ? rest : scan_.segment_blocks;
  }

  std::uint32_t segment_ = 0;
};

class FirstAcChain : public AcChain<false> {
 public:
  using AcChain::AcChain;

  /// Before a group of rounds: sees what the feed has stored. @return whether to go through it
  FW_HD bool begin_group() {
    constexpr std::uint32_t kMaxBits = 31 + 7;  // of a code, and of padding behind a segment
    return look<kAcRoundsPerFeed * kAcCodesPerRound * kMaxBits>();
  }
  /// Takes a round of codes.
  FW_HD void take_codes() {
#if defined(__CUDA_ARCH__)
#pragma unroll 2
#endif
    for (int i = 0; i < kAcCodesPerRound; ++i) step();
  }
  /// Behind it: tells the feed how far they came.
  FW_HD void end_group() const {
    store_.bit = bit_;
    store_.block = block_;
  }
  /// Tells those that refine how far they may go. Nobody may wait for a chain that has ended.
  FW_HD void publish() const {
    if (scan_.passed != nullptr) store_release(scan_.passed, faults_ != 0 ? blocks_ : block_);
  }

 private:
  /// Takes one code. Behind the last block it only drops bits, as far as a group goes.
  FW_HD void step() {
    const bool goes = goes_on();
    std::uint32_t code = short_code();
    if (goes & (code == chain_code::kNone)) code = walk_code();
    const bool ends = (code & chain_code::kEnds) != 0;
    if (goes & !ends & (k_ == scan_.first)) scan_.starts[block_] = kBlockCoded | bit_;
    k_ += ends ? 0 : chain_code::zeros(code) + 1;
    found_ |= static_cast<std::uint64_t>(chain_code::finds(code) ? 1 : 0) << ((k_ - 1) & 63);
    const std::uint32_t dropped = chain_code::dropped(code);
    const std::uint32_t run = ends ? chain_code::run(code, dropped, window_) : 1;
    const bool is_bad = (code == chain_code::kNone) | (k_ > scan_.last + 1) | (run > left_);
    if (goes & is_bad) faults_ |= kBadCode;
    drop(dropped);
    const bool passes = goes & (ends | (k_ > scan_.last)) & (faults_ == 0);
    k_ = passes ? scan_.first : k_;
    if (passes & (found_ != 0) & (scan_.after != nullptr)) add_bits(scan_.after + block_, found_);
    found_ = passes ? 0 : found_;
    pass(passes ? run : 0);
  }

  std::uint64_t found_ = 0;  ///< coefficients of this block that are not zero
};

class RefinementChain : public AcChain<true> {
 public:
  /// @param nth_rows  nth_bit::make_row() of 0 to 255
  FW_HD RefinementChain(const AcScanDesc& scan, std::uint32_t blocks, Store& store,
                        const std::uint32_t* nth_rows)
      : AcChain(scan, blocks, store),
        nth_rows_(nth_rows),
        histories_(store.histories),
        band_(band_mask(scan.first, scan.last)) {
#if defined(__CUDA_ARCH__)
    // Left to itself the compiler computes it anew for each block.
    asm volatile("" : "+l"(band_));
#endif
  }

  FW_HD bool begin_group() {
    histories_in_ = store_.histories_in;
    read_next();
    const bool waits = (begun_ == block_) & (begun_ == histories_in_);
    return look<kAcRoundsPerFeed * kMaxRoundBits>() & !waits;
  }
  /// Takes a round of codes: one of any kind, then plain ones, which most are. A lane whose next
  /// code is not plain takes nothing before the next round. Almost always one of the lanes of a
  /// warp stands at such a code, and all would wait for it if it were taken at once. Where many
  /// lanes have more plain codes, and words for them, these are taken too.
  /// @param lanes   those of the warp that take this round
  /// @param plenty  whether all of these have_plenty()
  __device__ void take_codes(unsigned lanes, bool plenty) {
    step();
    for (int pass = 0;; ++pass) {
      bool takes = false;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int i = 0; i < kAcCodesPerRound; ++i) takes = plain_step();
      read_window();
      if (!plenty || pass == kAcMorePasses) return;
      const unsigned votes = __ballot_sync(lanes, takes);
      if (kAcPassShare * __popc(votes) < __popc(lanes)) return;
    }
  }
  /// Behind begin_group(): whether words for all passes of a group are there.
  FW_HD bool has_plenty() const {
    constexpr std::uint32_t kBits =
        kAcRoundsPerFeed * (kMaxRoundBits + kAcMorePasses * kMaxPassBits);
    constexpr std::uint32_t kNeeded = kBits / 32 + 4;
    static_assert(kNeeded <= Store::kWords - 8, "feeds of two lanes bring eight words at a time");
    return bit_ / 32 + kNeeded <= store_.words_in;
  }
  FW_HD void end_group() const {
    store_.bit = bit_;
    store_.block = block_;
    // Nobody may wait for a chain that has ended.
    store_.known = faults_ != 0 ? blocks_ : block_;
  }

 private:
  /// What a plain code of the table drops with its sign and the corrections before it, at most.
  static constexpr std::uint32_t kMaxPlainBits = Store::kNearBits + 1 + 7;
  /// What a pass of plain codes takes.
  static constexpr std::uint32_t kMaxPassBits = kAcCodesPerRound * kMaxPlainBits;
  /// What a round takes without more passes: one code of any kind, corrections of two blocks,
  /// padding behind a segment, and a pass.
  static constexpr std::uint32_t kMaxRoundBits = 31 + 63 + 63 + 7 + kMaxPassBits;
  static_assert((kAcCodesPerRound - 1) * kMaxPlainBits + Store::kNearBits <= 64,
                "the window holds the codes of a round");

  /// Takes one code, if it is plain and its coefficient is one of the next 8; or does nothing, as
  /// where the band has no free coefficient left, or no block has begun.
  /// @return whether it took one
  FW_HD bool plain_step() {
    const std::uint32_t code = near_code();
    const std::uint32_t place = nth_bit::find(row_, code);
    const bool takes = place != 0;
    drop_from_window(chain_code::dropped_up_to(code, place), takes);
    pass_coefficients(place, takes);
    row_ = nth_rows_[free_ & 0xFF];
    return takes;
  }
  /// Passes coefficients up to one that a code is about.
  /// @param place  up to 63
  /// @param finds  whether that is not zero from here on
  FW_HD void pass_coefficients(std::uint32_t place, bool finds) {
    k_ += place;
    free_ >>= place;
    found_ = found_ >> place | (finds ? std::uint64_t{1} << 63 : 0);
  }
  /// Takes a code of any kind, ends its block, and begins the next, as far as histories are there.
  /// Blocks of a run begin behind their last coefficient.
  FW_HD void step() {
    const bool has_begun = begun_ != block_;
    const bool ends = take_code(has_begun & (k_ <= scan_.last));
    end_block(has_begun & (ends | (k_ > scan_.last)) & (faults_ == 0));
    begin_block((begun_ == block_) & (begun_ < histories_in_) & (faults_ == 0));
    row_ = nth_rows_[free_ & 0xFF];
    read_window();
    read_next();
  }
  /// Computes everything for codes of both kinds and then selects: a branch takes longer than the
  /// instructions that it saves, unless lanes seldom take it.
  /// @param takes  whether to do so
  /// @return whether the code ends the block
  FW_HD bool take_code(bool takes) {
    std::uint32_t code = near_code();
    // A code that ends the block is followed by the corrections of what is left of it.
    const std::uint32_t rest = scan_.last + 1 - k_ - static_cast<std::uint32_t>(count_bits(free_));
    // Any other code passes the coefficients up to the one that it is about.
    std::uint32_t passed = find_near(chain_code::zeros(code));
    bool ends = (code & chain_code::kEnds) != 0;
    if (takes & ((code == chain_code::kNone) | (!ends & (passed == 0)))) {
      if (code == chain_code::kNone) {
        code = long_code();
        ends = (code & chain_code::kEnds) != 0;
        passed = code == chain_code::kNone ? 0 : find_near(chain_code::zeros(code));
      }
      if (!ends && passed == 0 && code != chain_code::kNone) {
        passed = find_far(chain_code::zeros(code));
      }
      if (!ends && passed == 0) faults_ |= kBadCode;
    }
    const std::uint32_t dropped = chain_code::dropped_in_refinement(code);
    const std::uint32_t run = chain_code::run(code, dropped, window_);
    ends &= takes;
    passed = takes & !ends ? passed : 0;
    run_ = ends ? run : run_;
    if (run_ > left_) faults_ |= kBadCode;
    const std::uint32_t corrections = ends ? rest : passed - 1 - chain_code::zeros(code);
    bit_ += takes ? dropped + corrections : 0;
    pass_coefficients(passed, (passed != 0) & chain_code::finds(code));
    return ends;
  }
  /// @return coefficients up to the one behind `zeros` free ones; 0 where it is none of the next 16
  FW_HD std::uint32_t find_near(std::uint32_t zeros) const {
    const std::uint32_t row = nth_rows_[free_ >> 8 & 0xFF];
    const std::uint32_t count = count_eight(free_);
    const std::uint32_t first = nth_bit::find_any(row_, zeros);
    const std::uint32_t second = nth_bit::find_any(row, (zeros - count) & 15);
    return zeros < count ? first : second == 0 ? 0 : 8 + second;
  }
  /// The same wherever it is; 0 where the band has none.
  FW_HD std::uint32_t find_far(std::uint32_t zeros) const {
    std::uint64_t free = free_;
    for (std::uint32_t passed = 0; free != 0; free >>= 8, passed += 8) {
      const std::uint32_t count = count_eight(free);
      if (zeros == 7 && count == 8) return passed + 8;
      if (zeros < count) return passed + nth_bit::find_any(nth_rows_[free & 0xFF], zeros);
      zeros -= count;
    }
    return 0;
  }
  FW_HD static std::uint32_t count_eight(std::uint64_t free) {
    return static_cast<std::uint32_t>(count_bits(free & 0xFF));
  }
  /// @param ends  whether to do so
  FW_HD void end_block(bool ends) {
    if (ends & (scan_.after != nullptr)) scan_.after[block_] = history_ | found_ >> (64 - k_);
    run_ -= ends & (run_ != 0) ? 1 : 0;
    free_ = ends ? 0 : free_;
    pass(ends ? 1 : 0);
  }
  /// @param begins  whether to do so
  FW_HD void begin_block(bool begins) {
    const bool in_run = run_ != 0;
    if (begins & (!in_run | (next_corrections_ != 0))) {
      scan_.starts[block_] = (in_run ? kBlockInRun : kBlockCoded) | bit_;
    }
    bit_ += begins & in_run ? next_corrections_ : 0;
    begun_ += begins ? 1 : 0;
    history_ = begins ? next_history_ : history_;
    found_ = begins ? 0 : found_;
    k_ = begins ? in_run ? scan_.last + 1 : scan_.first : k_;
    // Otherwise free_ stays: that of the block that has begun before, or 0.
    free_ = begins & !in_run ? next_free_ : free_;
  }
  /// Reads the history that the next block needs, before anybody waits for it.
  FW_HD void read_next() {
    next_history_ = histories_[begun_ % Store::kHistories];
    next_free_ = (~next_history_ & band_) >> scan_.first;
    next_corrections_ = static_cast<std::uint32_t>(count_bits(next_history_ & band_));
  }

  const NearArray<std::uint32_t> nth_rows_;
  const NearArray<unsigned long long> histories_;
  std::uint64_t band_;
  std::uint32_t begun_ = 0;    ///< blocks that have begun: block_, or that and 1
  std::uint64_t history_ = 0;  ///< of this block before the scan
  // Of the next block, as far as histories are there.
  std::uint64_t next_history_ = 0;
  std::uint64_t next_free_ = 0;
  std::uint32_t next_corrections_ = 0;
  std::uint64_t free_ = 0;   ///< bit i: coefficient k_ + i is of the band, and has been zero
  std::uint32_t row_ = 0;    ///< of the lowest 8 of free_
  std::uint64_t found_ = 0;  ///< bit 63 - i: coefficient k_ - 1 - i is not zero since this scan
  std::uint32_t run_ = 0;    ///< blocks without codes, this one included
  std::uint32_t histories_in_ = 0;
};

}  // namespace framewire::codec::cuda
