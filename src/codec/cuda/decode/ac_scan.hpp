// Decodes one AC scan of a progressive file from its first bit to its last: a chain of symbols.
//
// Source: ITU-T T.81 G.1.2.2 (first scans) and G.1.2.3 (refinement). As in the CPU codec
// (codec/turbo/block_decoding.cpp), a block's history is a mask of its coefficients that are not
// zero: the end of a run of zeros is a selection among the bits of its complement, and how many
// correction bits lie before it is a count.
#pragma once

#include <base/host_device.hpp>
#include <codec/cuda/decode/ac_descriptors.hpp>
#include <codec/cuda/decode/scan_bits.hpp>
#include <codec/cuda/status_bits.hpp>
#include <cstddef>
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

/// The lanes of a warp that decode chains. Left to itself a lane that went another way through one
/// symbol may never meet the others again, and the warp then works for one lane at a time.
class ChainLanes {
 public:
  ChainLanes() = default;
  /// @param mask  the lanes; all of them call this
  FW_HD explicit ChainLanes(std::uint32_t mask) : mask_(mask) {}
  /// Waits for the lanes that have not left. One that does not go on leaves. @return goes_on
  FW_HD bool meet([[maybe_unused]] bool goes_on) {
#if defined(__CUDA_ARCH__)
    mask_ = __ballot_sync(mask_, goes_on ? 1 : 0);
#endif
    return goes_on;
  }

 private:
  [[maybe_unused]] std::uint32_t mask_ = 0;
};

/// Where the levels of a block lie, for blocks in ascending order.
class BlockLevels {
 public:
  FW_HD explicit BlockLevels(const ProgressivePlane& plane)
      : plane_(plane), row_end_(plane.width_blocks) {}

  /// To any block, also one before.
  FW_HD void jump_to(std::uint32_t block) {
    row_ = block / plane_.width_blocks;
    row_end_ = (row_ + 1) * plane_.width_blocks;
    go_to(block);
  }

  FW_HD void go_to(std::uint32_t block) {
    while (block >= row_end_) {
      row_end_ += plane_.width_blocks;
      ++row_;
    }
    const bool right = plane_.right_edge != 0 && block + 1 == row_end_;
    const bool bottom = plane_.bottom_edge != 0 && row_ + 1 == plane_.height_blocks;
    shift_ = plane_.corner_shift;
    kept_ = plane_.corner_mask;
    at_ = block << (2 * shift_);
    if (!right && !bottom) return;
    const std::uint32_t column = block + plane_.width_blocks - row_end_;
    const std::uint32_t slot =
        right ? row_ : (plane_.right_edge != 0 ? plane_.height_blocks : 0) + column;
    shift_ = 3;
    kept_ = ~std::uint64_t{0};
    at_ = plane_.edges_at + slot * 64;
  }
  /// Mask of the coefficients that are kept.
  FW_HD std::uint64_t kept() const { return kept_; }
  /// Index of a kept coefficient's level. @param natural  its position
  FW_HD std::uint32_t index(std::uint32_t natural) const {
    return at_ + ((natural >> 3) << shift_) + (natural & 7);
  }

 private:
  const ProgressivePlane& plane_;
  std::uint32_t row_end_;  ///< one past the row's last block
  std::uint32_t row_ = 0;
  std::uint32_t at_ = 0;
  std::uint32_t shift_ = 3;
  std::uint64_t kept_ = 0;
};

/// What both kinds of scans share: symbols, restart markers and the end.
class AcScanReader {
 public:
  /// @param scan  stays, and may become another one before begin()
  FW_HD AcScanReader(const AcScanDesc& scan, std::uint32_t blocks)
      : scan_(scan), bits_(scan.data, 0, scan.data_bytes) {
    begin(blocks);
  }
  /// Goes to the beginning of what the scan is now.
  FW_HD void begin(std::uint32_t blocks) {
    bits_ = ScanBits(scan_.data, 0, scan_.data_bytes);
    left_ = blocks < scan_.segment_blocks ? blocks : scan_.segment_blocks;
    restarts_ = 0;
  }

  FW_HD ScanBits& bits() { return bits_; }
  /// Blocks up to the next restart marker, or to the end.
  FW_HD std::uint32_t left() const { return left_; }

  /// A code that has been looked at. A length of 0 means that the bits are no code.
  struct Code {
    std::uint32_t symbol;
    int length;
  };
  /// Looks at the next code, without dropping it. It and 17 bits behind it are available.
  FW_HD Code peek_code() {
    bits_.refill();
    const auto window = static_cast<std::uint32_t>(bits_.window() >> 32);
    const std::uint32_t entry = scan_.table->entries[window >> (32 - kAcLookupBits)];
    if (entry != 0) return {entry >> 8, static_cast<int>(entry & 0xFF)};
    return walk(scan_.table->code, window >> 16);
  }
  /// Drops a code of class EOBn and reads how many blocks its run has, this block included.
  /// @return 0 for more than are left
  FW_HD std::uint32_t take_run(const Code& code) {
    const auto n = static_cast<int>(code.symbol >> 4);
    const auto more = static_cast<std::uint32_t>(bits_.window() << code.length >> 49);  // 15 bits
    bits_.drop(code.length + n);
    const std::uint32_t run = (1u << n) + (more >> (15 - n));
    return run <= left_ ? run : 0;
  }

  /// Passes `count` blocks; those left are as many or more. Behind the last one of a segment goes
  /// to the next, and behind the scan's last looks whether the data ends.
  /// @param remaining  blocks of the scan behind these
  FW_HD void pass(std::uint32_t count, std::uint32_t remaining) {
    left_ -= count;
    if (bits_.overrun()) faults_ |= kTruncated;
    if (left_ != 0 || faults_ != 0) return;
    if (!bits_.is_complete()) {
      faults_ |= kExtraneous;
      return;
    }
    const std::uint32_t end = bits_.end();
    if (remaining == 0) {
      if (end != scan_.data_bytes) faults_ |= kExtraneous;
      return;
    }
    if (end + 1 >= scan_.data_bytes) {
      faults_ |= kTruncated;
      return;
    }
    if (scan_.data[end + 1] != 0xD0 + restarts_ % 8) {
      faults_ |= kExtraneous;
      return;
    }
    ++restarts_;
    bits_ = ScanBits(scan_.data, end + 2, scan_.data_bytes);
    left_ = remaining < scan_.segment_blocks ? remaining : scan_.segment_blocks;
  }

  FW_HD void spoil(std::uint32_t fault) { faults_ |= fault; }
  /// StatusBit; 0 as long as the data is clean.
  FW_HD std::uint32_t faults() const { return faults_; }

 private:
  /// A code that is longer than the lookup table's index.
  FW_HD static Code walk(const CanonicalCode& code, std::uint32_t window16) {
    for (int length = kAcLookupBits + 1; length <= 16; ++length) {
      if (window16 >= code.limit[length]) continue;
      const std::int32_t at =
          static_cast<std::int32_t>(window16 >> (16 - length)) + code.offset[length];
      return {code.values[at & 0xFF], length};
    }
    return {0, 0};
  }

  const AcScanDesc& scan_;
  ScanBits bits_;
  std::uint32_t left_ = 0;
  std::uint32_t restarts_ = 0;
  std::uint32_t faults_ = 0;
};

/// A level as sign and magnitude. @param tail  additional bits at the top; @param size  how many
FW_HD inline std::uint32_t signed_level(std::uint32_t tail, std::uint32_t size,
                                        std::uint32_t low_bit) {
  const std::int32_t value = extend(tail, size);
  return value < 0 ? 0x8000u | static_cast<std::uint32_t>(-value) << low_bit
                   : static_cast<std::uint32_t>(value) << low_bit;
}

/// Decodes a first scan.
/// @param order  natural positions of the coefficients in the order sent
/// @param sink   set(index, level): stores a level. add(block, mask): adds to a block's history
/// @return StatusBit
template <typename Sink>
FW_HD inline std::uint32_t decode_first_ac(const AcScanDesc& scan, const ProgressivePlane& plane,
                                           const std::uint8_t* order, Sink& sink,
                                           ChainLanes lanes = {}) {
  const std::uint32_t blocks = plane.width_blocks * plane.height_blocks;
  AcScanReader reader(scan, blocks);
  BlockLevels place(plane);
  place.go_to(0);
  std::uint32_t block = 0;
  std::uint32_t k = scan.first;
  std::uint64_t found = 0;
  // One symbol a turn, and nothing leaves the middle of one: lanes of a warp meet at its end.
  while (lanes.meet(block < blocks && reader.faults() == 0)) {
    const AcScanReader::Code code = reader.peek_code();
    const std::uint32_t size = code.symbol & 15;
    const std::uint32_t zeros = code.symbol >> 4;
    std::uint32_t passed = 0;
    bool bad = code.length == 0 || size > 15 - scan.low_bit;
    if (size != 0 || zeros == 15) {
      const auto tail = static_cast<std::uint32_t>(reader.bits().window() << code.length >> 32);
      reader.bits().drop(code.length + static_cast<int>(size));
      k += zeros;
      bad = bad || k > scan.last;
      if (!bad && size != 0) {
        found |= std::uint64_t{1} << k;
        if ((place.kept() >> k & 1) != 0) {
          sink.set(place.index(order[k]), signed_level(tail, size, scan.low_bit));
        }
      }
      ++k;
      passed = k > scan.last ? 1 : 0;
    } else {
      passed = reader.take_run(code);
      bad = bad || passed == 0;
    }
    if (bad) reader.spoil(kBadCode);
    if (passed != 0 && !bad) {
      if (found != 0) sink.add(block, found);
      found = 0;
      k = scan.first;
      block += passed;
      reader.pass(passed, blocks - block);
      if (block < blocks) place.go_to(block);
    }
  }
  return reader.faults();
}

/// The next `count` bits, fewer than 64, right-aligned.
FW_HD inline std::uint64_t take_corrections(ScanBits& bits, int count) {
  std::uint64_t sent = 0;
  if (count > 32) {
    bits.need(32);
    sent = bits.take(32);
    count -= 32;
  }
  if (count > 0) {
    bits.need(count);
    sent = sent << count | bits.take(count);
  }
  return sent;
}

/// Reads a chain of scans, each of which refines what earlier ones sent, and records what they
/// send; apply_refinements() does it. Other parameters as of decode_first_ac().
/// @param chain  at least one scan, of one plane
/// @param sink   history(block); store(block, mask): the history from now on. record(i, what): of
///               the i-th block, counted through all scans
template <typename Sink>
FW_HD inline std::uint32_t refine_ac(const AcScanDesc* chain, std::uint32_t scan_count,
                                     std::uint32_t blocks, Sink& sink, ChainLanes lanes = {}) {
  AcScanDesc scan = chain[0];
  std::uint32_t scans_left = scan_count - 1;
  std::uint64_t band_end = ~std::uint64_t{0} >> (63 - scan.last);
  AcScanReader reader(scan, blocks);
  std::uint32_t run = 0;  // blocks without new coefficients, this one included
  std::uint32_t k = scan.first;
  std::uint32_t block = 0;
  std::uint32_t at = 0;  // of the block's record
  RefinementRecord record;
  std::uint64_t history = sink.history(0);
  std::uint64_t next = blocks > 1 ? sink.history(1) : 0;  // a block ahead, as memory answers late
  // One symbol a turn, or one block of a run, as in decode_first_ac(). Scans follow one another in
  // the same loop, so that lanes at different ones still meet.
  while (lanes.meet(block < blocks && reader.faults() == 0)) {
    const std::uint64_t rest = band_end & ~std::uint64_t{0} << k;  // k is at most 63 here
    std::uint64_t passed = history & rest;  // coefficients that get a correction bit
    std::uint32_t target = scan.last;
    if (run == 0) {
      const AcScanReader::Code code = reader.peek_code();
      const std::uint32_t size = code.symbol & 15;
      std::uint32_t zeros = code.symbol >> 4;
      bool bad = code.length == 0 || size > 1;
      if (size != 0 || zeros == 15) {
        const bool negative = (reader.bits().window() << code.length >> 63) == 0;
        reader.bits().drop(code.length + static_cast<int>(size));
        std::uint64_t free = ~history & rest;
        for (; zeros != 0; --zeros) free &= free - 1;
        const std::uint64_t bit = free & ~(free - 1);
        bad = bad || bit == 0;
        if (!bad) {
          passed &= bit - 1;
          target = static_cast<std::uint32_t>(lowest_bit(bit));
          if (size != 0) record.found |= bit;
          if (size != 0 && negative) record.negative |= bit;
        }
      } else {
        run = reader.take_run(code);
        bad = bad || run == 0;
      }
      if (bad) reader.spoil(kBadCode);
    }
    const int count = reader.faults() == 0 ? count_bits(passed) : 0;
    record.corrections = record.corrections << count | take_corrections(reader.bits(), count);
    run -= run != 0 ? 1 : 0;
    k = target + 1;
    if (k > scan.last) {
      sink.record(at++, record);
      if (record.found != 0) sink.store(block, history | record.found);
      record = {};
      k = scan.first;
      ++block;
      reader.pass(1, blocks - block);
      if (block == blocks && scans_left != 0 && reader.faults() == 0) {
        --scans_left;
        scan = *++chain;
        band_end = ~std::uint64_t{0} >> (63 - scan.last);
        reader.begin(blocks);
        block = 0;
        k = scan.first;
        next = sink.history(0);
      }
      history = next;
      if (block + 1 < blocks) next = sink.history(block + 1);
    }
  }
  return reader.faults();
}

/// Does to one block what a chain of refinements has recorded.
/// @param scans    of the chain
/// @param history  of the block, behind the chain
/// @param records  of the block: the first scan's, and each other `stride` records further
/// @param sink     set(index, level); correct(index, bit): sets a bit of a level
template <typename Sink>
FW_HD inline void apply_refinements(const AcScanDesc* scans, std::uint32_t scan_count,
                                    std::uint64_t history, const RefinementRecord* records,
                                    std::size_t stride, const BlockLevels& place,
                                    const std::uint8_t* order, Sink& sink) {
  for (std::uint32_t i = 0; i < scan_count; ++i) history &= ~records[i * stride].found;
  for (std::uint32_t i = 0; i < scan_count; ++i) {
    const RefinementRecord record = records[i * stride];
    const AcScanDesc& scan = scans[i];
    const std::uint64_t band = ~std::uint64_t{0} >> (63 - scan.last) & ~std::uint64_t{0}
                                                                           << scan.first;
    std::uint64_t corrected = history & band;
    int behind = count_bits(corrected);
    if (record.corrections == 0) corrected = 0;
    for (; corrected != 0; corrected &= corrected - 1) {
      --behind;
      const int k = lowest_bit(corrected);
      if ((record.corrections >> behind & 1) == 0 || (place.kept() >> k & 1) == 0) continue;
      sink.correct(place.index(order[k]), 1u << scan.low_bit);
    }
    for (std::uint64_t todo = record.found & place.kept(); todo != 0; todo &= todo - 1) {
      const int k = lowest_bit(todo);
      const std::uint32_t sign = (record.negative >> k & 1) != 0 ? 0x8000u : 0u;
      sink.set(place.index(order[k]), sign | 1u << scan.low_bit);
    }
    history |= record.found;
  }
}

}  // namespace framewire::codec::cuda
