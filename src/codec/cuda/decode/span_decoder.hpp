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
  std::uint32_t slots = 0;   ///< 2 bits a block
  std::uint32_t period = 1;  ///< after how many blocks the slots repeat
};

FW_HD inline std::uint32_t funnel(std::uint32_t high, std::uint32_t low, std::uint32_t shift) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_l(low, high, shift);
#else
  shift &= 31;
  return shift == 0 ? high : high << shift | low >> (32 - shift);
#endif
}

/// Reads 32 bits at a growing position of a column of words.
template <typename Words>
class BitWindow {
 public:
  FW_HD BitWindow(const Words& words, std::uint32_t bit)
      : words_(words),
        at_(bit),
        high_(words[bit >> 5]),
        low_(words[(bit >> 5) + 1]),
        ahead_(words[(bit >> 5) + 2]) {}
  FW_HD std::uint32_t at() const { return at_; }
  FW_HD std::uint32_t bits() const { return funnel(high_, low_, at_); }
  FW_HD void advance(std::uint32_t count) {
    const std::uint32_t next = at_ + count;
    if ((next ^ at_) & 32) {
      high_ = low_;
      low_ = ahead_;
      ahead_ = words_[(next >> 5) + 2];
    }
    at_ = next;
  }

 private:
  Words words_;
  std::uint32_t at_;
  std::uint32_t high_;
  std::uint32_t low_;
  std::uint32_t ahead_;  ///< read a word early, as memory answers late
};

struct SkipResult {
  std::uint32_t state = 0;   ///< packed, relative to the end of the subsequence
  std::uint32_t blocks = 0;  ///< completed
};

/// Runs over a subsequence without looking at values.
/// @param tables  entry(table, index) and slow(table, window); table = 2 × slot + (0 DC, 1 AC)
template <typename Words, typename Tables>
FW_HD inline SkipResult skip_span(const Words& words, const Tables& tables, PhasePattern pattern,
                                  std::uint32_t length_bits, std::uint32_t start_bit,
                                  std::uint32_t phase, std::uint32_t index) {
  SkipResult result;
  if (start_bit < length_bits) {
    BitWindow<Words> window(words, start_bit);
    std::uint32_t table = (pattern.slots >> (2 * phase) & 3) * 2 + (index != 0 ? 1 : 0);
    do {
      const std::uint32_t bits = window.bits();
      std::uint32_t entry = tables.entry(table, bits >> (32 - kTableBits));
      if (entry == 0) entry = tables.slow(table, bits);
      const bool all =
          index + half_passed(entry) <= 64 && window.at() + half_bits(entry) <= length_bits;
      const std::uint32_t half = all ? entry : entry >> 16;
      window.advance(half_bits(half));
      index += half_passed(half);
      table |= 1;
      if (index >= 64 || (half & kEndsBlock) != 0) {
        index = 0;
        ++result.blocks;
        phase = phase + 1 == pattern.period ? 0 : phase + 1;
        table = (pattern.slots >> (2 * phase) & 3) * 2;
      }
    } while (window.at() < length_bits);
    start_bit = window.at();
  }
  result.state = pack({start_bit - length_bits, phase, index});
  return result;
}

struct SpanResult {
  std::uint32_t at = 0;     ///< bit reached
  std::uint32_t block = 0;  ///< block reached
  bool bad = false;         ///< met bits that are no code, or a run beyond the block
};

/// Runs over a subsequence from its known start and hands each non-zero coefficient to the sink.
/// The last step may reach into the next subsequence, at most to the end of a block; both then find
/// the same coefficients there.
/// @param tables  step(table, index) and slow_step(table, window); `table` as in skip_span()
/// @param sink    begin(block, continued) and end(complete) around each block. `continued`: an
///                earlier subsequence began it; not `complete`: a later one ends it. put(index,
///                value): zig-zag index, 0 is the DC difference; up to 94 beyond the block's end,
///                to be dropped. kTakesZeros: put() may be called for zeros too, which spares
///                branches
template <typename Words, typename Tables, typename Sink>
FW_HD inline SpanResult write_span(const Words& words, const Tables& tables, std::uint32_t slots,
                                   std::uint32_t period, std::uint32_t length_bits,
                                   DecodeState state, std::uint32_t block, std::uint32_t block_end,
                                   Sink& sink) {
  SpanResult result{state.bit, block, false};
  if (state.bit >= length_bits || block >= block_end) return result;
  BitWindow<Words> window(words, state.bit);
  std::uint32_t phase = state.phase;
  std::uint32_t index = state.index;
  std::uint32_t table = (slots >> (2 * phase) & 3) * 2 + (index != 0 ? 1 : 0);
  sink.begin(block, index != 0);
  do {
    const std::uint32_t bits = window.bits();
    Step step = tables.step(table, bits >> (32 - kStepBits));
    if (step.first == 0) step = tables.slow_step(table, bits);
    const std::int32_t first = step_value(step.first);
    const std::int32_t second = step_value(step.all);
    // A step without a value has value 0 at the place of the next coefficient, so the earlier
    // coefficient is put last.
    if (Sink::kTakesZeros || second != 0) sink.put(index + step_place(step.all), second);
    if (Sink::kTakesZeros || first != 0) sink.put(index + step_place(step.first), first);
    // If the first symbol alone completes the block without an end code, the others do not count:
    // behind them comes a DC code, not AC.
    const std::uint32_t half = index + half_passed(step.all) <= 64 ? step.all : step.first;
    const std::uint32_t size = step_size(half);
    const std::uint32_t used = half_bits(half);
    index += half_passed(half);
    if (size != 0) sink.put(index - 1, extend(bits << (used - size), size));
    window.advance(used);
    table |= 1;
    if (index >= 64 || (half & kEndsBlock) != 0) {
      result.bad |= index > 64;
      index = 0;
      ++block;
      phase = phase + 1 == period ? 0 : phase + 1;
      table = (slots >> (2 * phase) & 3) * 2;
      sink.end(true);
      if (block >= block_end) break;
      sink.begin(block, false);
    }
  } while (window.at() < length_bits);
  if (index != 0) sink.end(false);
  result.at = window.at();
  result.block = block;
  return result;
}

}  // namespace framewire::codec::cuda
