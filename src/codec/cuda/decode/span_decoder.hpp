// Decodes one subsequence from a given state: the step that every pass of the entropy decoder runs.
//
// Source: self-synchronising parallel decoding after Klein and Wiseman (2003) and Weißenberger and
// Schmidt (2018, 2021); the state (bit, dct_block of the MCU, zig-zag index) is that of the latter.
// The state behind a subsequence is taken at the first symbol that begins at or behind its end. So
// two decoders that have met have equal states, whatever number of symbols they took at once.
#pragma once

#include <codec/cuda/tuning.h>
#include <base/host_device.hpp>
#include <codec/cuda/decode/entry.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Where a symbol begins: bits behind the boundary (0 to 30), block within the MCU, zig-zag index.
struct DecodeState {
  std::uint32_t bit = 0;
  std::uint32_t phase = 0;
  std::uint32_t index = 0;
};
/// A state in 16 bits. Equal states have equal bits.
FW_HD constexpr std::uint32_t pack(const DecodeState& s) {
  return s.bit | s.phase << 5 | s.index << 9;
}
FW_HD constexpr DecodeState unpack(std::uint32_t s) { return {s & 31, s >> 5 & 15, s >> 9 & 63}; }

/// Which tables the blocks of an MCU use.
struct PhasePattern {
  std::uint32_t tables = 0;  ///< 3 bits a block: twice its slot, the number of its DC table; the
                             ///< lowest may mark it
  std::uint32_t period = 1;  ///< after how many blocks they repeat
};

/// The tables of the blocks to come, from one block of an MCU on.
class TableOrder {
 public:
  FW_HD TableOrder(PhasePattern pattern, std::uint32_t phase)
      : wrap_(1u << (3 * (pattern.period - 1))) {
    const std::uint32_t behind = 3 * (phase % pattern.period);
    const std::uint32_t before = pattern.tables & ((1u << behind) - 1);
    tables_ = pattern.tables >> behind | before << (3 * pattern.period - behind);
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(wrap_));  // or a shift is computed anew for each block
#endif
  }
  FW_HD std::uint32_t dc_table() const { return tables_ & 6; }
  FW_HD bool marked() const { return (tables_ & 1) != 0; }
  FW_HD void next() { tables_ = (tables_ >> 3) + (tables_ & 7) * wrap_; }

 private:
  std::uint32_t tables_;
  std::uint32_t wrap_;
};

// A cursor: the zig-zag index at bits 0–7 and the bit of the subsequence from kBitsShift on, so
// that a lookup's advance is added at once. Where the sum has any bit of kBlockDone, the block is
// over.
inline constexpr std::uint32_t kIndexMask = 0xFF;
inline constexpr std::uint32_t kIndexFrom64 = 0xC0;  ///< which bits an index of 64 to 190 may have
inline constexpr std::uint32_t kBlockDone = kEndsBlock | kIndexFrom64;
/// What differs between two cursors, less than a word apart, that lie in two words; in two pairs.
inline constexpr std::uint32_t kWordCrossed = 32u << kBitsShift;
inline constexpr std::uint32_t kPairCrossed = 64u << kBitsShift;

FW_HD constexpr std::uint32_t make_cursor(std::uint32_t bit, std::uint32_t index) {
  return bit << kBitsShift | index;
}

FW_HD inline std::uint32_t funnel(std::uint32_t high, std::uint32_t low, std::uint32_t shift) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_l(low, high, shift);
#else
  shift &= 31;
  return shift == 0 ? high : high << shift | low >> (32 - shift);
#endif
}

struct WordPair {
  std::uint32_t first;
  std::uint32_t second;
};

/// The words around a cursor.
struct WindowWords {
  std::uint32_t high;
  std::uint32_t low;
  WordPair ahead;  ///< read early, as memory answers late; of its pair's second word only `first`

  /// Moves on by a word where `changed` says so.
  template <typename Words>
  FW_HD void slide(std::uint32_t changed, Words& words) {
    if ((changed & kWordCrossed) == 0) return;
    high = low;
    low = ahead.first;
    ahead.first = ahead.second;
    if ((changed & kPairCrossed) != 0) ahead = words.take();
  }
};

/// Reads 32 bits at a growing position of a column of words.
/// @tparam Words  a place in a column: from_pair(pair) is another; take() gives a WordPair and goes
///                on; slide(changed, window) does what WindowWords::slide() does
template <typename Words>
class BitWindow {
 public:
  FW_HD BitWindow(const Words& column, std::uint32_t bit) : words_(column.from_pair(bit >> 6)) {
    const WordPair first = words_.take();
    const WordPair second = words_.take();
    const bool odd = (bit & 32) != 0;
    window_ = {odd ? first.second : first.first,
               odd ? second.first : first.second,
               {odd ? second.second : second.first, second.second}};
  }
  FW_HD std::uint32_t bits(std::uint32_t cursor) const {
    return funnel(window_.high, window_.low, cursor >> kBitsShift);
  }
  /// From one cursor to another, less than 32 bits behind it.
  FW_HD void move(std::uint32_t from, std::uint32_t to) { words_.slide(from ^ to, window_); }

 private:
  Words words_;
  WindowWords window_;
};

struct SkipResult {
  std::uint32_t state = 0;   ///< packed, relative to the end of the subsequence
  std::uint32_t blocks = 0;  ///< completed
};

/// Runs over a subsequence without looking at values.
/// @param words   the subsequence's column, see BitWindow
/// @param tables  entry(table, index) and long_symbol(table, window); table = 2 × slot, + 1
///                for AC
template <typename Words, typename Tables>
FW_HD inline SkipResult skip_span(const Words& words, const Tables& tables, PhasePattern pattern,
                                  std::uint32_t length_bits, DecodeState state) {
  SkipResult result;
  if (state.bit < length_bits) {
    BitWindow<Words> window(words, state.bit);
    TableOrder order(pattern, state.phase);
    std::uint32_t table = order.dc_table() | (state.index != 0 ? 1 : 0);
    std::uint32_t cursor = make_cursor(state.bit, state.index);
    const std::uint32_t end = make_cursor(length_bits, 0);
    do {
      const std::uint32_t bits = window.bits(cursor);
      const std::uint32_t entry = tables.entry(table, bits >> (32 - kTableBits));
      std::uint32_t next = cursor + (entry & (kAdvanceMask | kLongCode));
      // Rare: a long code, or the block's or the subsequence's end, which the first symbol may
      // reach before the others.
      if ((next & kIndexFrom64) != 0 || next >= end) {
        const bool all = (next & kIndexMask) <= 64 && next <= (end | kEndsBlock | kIndexMask);
        next = cursor + ((entry & kLongCode) != 0 ? tables.long_symbol(table, bits) & kAdvanceMask
                         : all                    ? entry & kAdvanceMask
                                                  : first_advance(entry));
      }
      window.move(cursor, next);
      table |= 1;
      if ((next & kBlockDone) != 0) {
        next &= ~(kEndsBlock | kIndexMask);
        ++result.blocks;
        order.next();
        table = order.dc_table();
      }
      cursor = next;
    } while (cursor < end);
    state.bit = cursor >> kBitsShift;
    state.index = cursor & kIndexMask;
    state.phase = (state.phase + result.blocks) % pattern.period;
  }
  state.bit -= length_bits;
  result.state = pack(state);
  return result;
}

struct SpanResult {
  std::uint32_t at = 0;     ///< bit reached
  std::uint32_t block = 0;  ///< block reached
  bool bad = false;         ///< met bits that are no code, or a run beyond the block
};

/// The highest zig-zag index that write_span() hands to a sink.
inline constexpr std::uint32_t kMaxSinkIndex = 63 + kInvalidPassed - 1;

/// Runs over a subsequence from its known start and hands its coefficients to the sink.
/// The last step may reach into the next subsequence, at most to the end of a block; both then find
/// the same coefficients there.
/// @param words   as in skip_span()
/// @param tables  step(table, index) and long_symbol(table, window); `table` as in skip_span()
/// @param sink    begin(block, continued, marked) and end(complete) around each block. `continued`:
///                an earlier subsequence began it; not `complete`: a later one ends it. put(index,
///                value): zig-zag index, 0 is the DC difference; zeros too, since that spares
///                branches, behind all that was put before, also where the block's rest is another
///                subsequence's. Indices from 64 to kMaxSinkIndex are to be dropped
template <typename Words, typename Tables, typename Sink>
FW_HD inline SpanResult write_span(const Words& words, const Tables& tables, PhasePattern pattern,
                                   std::uint32_t length_bits, DecodeState state,
                                   std::uint32_t block, std::uint32_t block_end, Sink& sink) {
  SpanResult result{state.bit, block, false};
  if (state.bit >= length_bits || block >= block_end) return result;
  BitWindow<Words> window(words, state.bit);
  TableOrder order(pattern, state.phase);
  std::uint32_t table = order.dc_table() | (state.index != 0 ? 1 : 0);
  std::uint32_t cursor = make_cursor(state.bit, state.index);
  const std::uint32_t end = make_cursor(length_bits, 0);
  sink.begin(block, state.index != 0, order.marked());
  do {
    const std::uint32_t bits = window.bits(cursor);
    Step step = tables.step(table, bits >> (32 - kStepBits));
    std::uint32_t half = step.all;
    std::uint32_t next = cursor + (half & (kAdvanceMask | kLongCode));
    // Rare: a long code, or the block's end. If the first symbol alone completes the block without
    // an end code, the others do not count: behind them comes a DC code, not AC.
    if ((next & kIndexFrom64) != 0) {
      if ((half & kLongCode) != 0) {
        step = single_step(tables.long_symbol(table, bits));
        half = step.all;
      } else if ((next & kIndexMask) > 64) {
        half = step.all = step.first;
      }
      next = cursor + (half & kAdvanceMask);
      result.bad |= (next & kIndexMask) > 64;
    }
    const std::uint32_t index = cursor & kIndexMask;
    sink.put(index + step_place(step.first), step_value(step.first));
    sink.put(index + step_place(step.all), step_value(step.all));
    const std::uint32_t size = step_size(half);
    const std::uint32_t tail = bits << ((advance_bits(half) - size) & 31);
    sink.put((next & kIndexMask) - 1, extend(tail, size));
    window.move(cursor, next);
    table |= 1;
    const bool done = (next & kBlockDone) != 0;
    cursor = done ? next & ~(kEndsBlock | kIndexMask) : next;
    if (done) {
      ++block;
      order.next();
      table = order.dc_table();
      sink.end(true);
      if (block >= block_end) break;
      sink.begin(block, false, order.marked());
    }
  } while (cursor < end);
  if ((cursor & kIndexMask) != 0) sink.end(false);
  result.at = cursor >> kBitsShift;
  result.block = block;
  return result;
}

}  // namespace framewire::codec::cuda
