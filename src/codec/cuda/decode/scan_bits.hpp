// Bits of one scan in order, read from the file's bytes: stuffing is removed on the way.
//
// Source: ITU-T T.81 F.2.2.5 (stuffing) and B.1.1.5 (markers). Chains of symbols that nothing can
// decode in parallel read through this, so what counts is how long one lane waits: words are loaded
// one ahead of their use, and a word without 0xFF goes into the window as it is.
#pragma once

#include <base/host_device.hpp>
#include <codec/cuda/decode/unstuffer.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// A position in a segment's bytes. Reading never passes a marker or the end: zeros follow, and
/// overrun() tells afterwards.
class ScanBits {
 public:
  /// Bits that refill() makes available: enough for a code of 16 bits and 14 more.
  static constexpr int kRefilled = 33;

  /// @param data   of the scan. The aligned words around its bytes are read, and one more behind
  /// @param begin  first byte of the segment
  /// @param end    one past the scan's last byte
  FW_HD ScanBits(const std::uint8_t* data, std::uint32_t begin, std::uint32_t end)
      : data_(data),
        begin_(static_cast<std::int32_t>(begin)),
        end_(static_cast<std::int32_t>(end)) {
    const auto skipped =
        static_cast<std::int32_t>(reinterpret_cast<std::uintptr_t>(data + begin) & 3);
    at_ = begin_ - skipped;
    ahead_ = begin_ < end_ ? load(at_) : 0;
  }

  /// Makes at least kRefilled bits available.
  FW_HD void refill() {
    while (count_ < kRefilled) {
      const std::uint32_t word = ahead_;
      const std::int32_t at = at_;
      at_ += 4;
      if (at_ < end_) ahead_ = load(at_);
      if (!escaped_ && escapes(word) == 0 && at >= begin_ && at_ <= end_) {
        append(swap_bytes(word), 32);
      } else {
        take_bytes(word, at);
      }
    }
  }
  FW_HD void need(int bits) {
    if (count_ < bits) refill();
  }
  /// The next bits, the first one highest; zeros behind those that are available.
  FW_HD std::uint64_t window() const { return window_; }
  /// Drops bits that are available; fewer than 64.
  FW_HD void drop(int bits) {
    window_ <<= bits;
    count_ -= bits;
  }
  /// The next `bits` bits, 1 to 32, right-aligned.
  FW_HD std::uint32_t take(int bits) {
    const auto value = static_cast<std::uint32_t>(window_ >> (64 - bits));
    drop(bits);
    return value;
  }

  /// Whether more bits were dropped than there are.
  FW_HD bool overrun() const { return padding_ > count_; }
  /// Whether all whole bytes up to a marker, or to the end, have been used.
  FW_HD bool is_complete() {
    refill();
    const int left = count_ - padding_;
    return left >= 0 && left < 8 && at_ >= end_;
  }
  /// Where the marker begins that ends the segment, once is_complete(); otherwise the scan's end.
  FW_HD std::uint32_t end() const { return static_cast<std::uint32_t>(end_); }

 private:
  FW_HD std::uint32_t load(std::int32_t at) const {
#if defined(__CUDA_ARCH__)
    return *reinterpret_cast<const std::uint32_t*>(data_ + at);
#else
    std::uint32_t word = 0;
    __builtin_memcpy(&word, data_ + at, 4);
    return word;
#endif
  }
  FW_HD void append(std::uint32_t bits, int count) {
    window_ |= static_cast<std::uint64_t>(bits) << (64 - count - count_);
    count_ += count;
  }
  /// Takes the bytes of a word one by one: around 0xFF, and at both ends.
  FW_HD void take_bytes(std::uint32_t word, std::int32_t at) {
    if (at >= end_) {
      padding_ += 64 - kRefilled + 1;
      count_ += 64 - kRefilled + 1;
      return;
    }
    for (int i = 0; i < 4; ++i, ++at, word >>= 8) {
      if (at < begin_) continue;
      if (at >= end_) break;
      const std::uint32_t byte = word & 0xFF;
      if (escaped_) {
        escaped_ = false;
        if (byte == 0) {
          append(0xFF, 8);
          continue;
        }
        end_ = at - 1;
        return;
      }
      if (byte == 0xFF) {
        escaped_ = true;
      } else {
        append(byte, 8);
      }
    }
    if (at_ >= end_ && escaped_) --end_;  // the last byte is a 0xFF that nothing follows
  }

  const std::uint8_t* data_;
  std::uint64_t window_ = 0;  ///< unread bits at the top
  std::uint32_t ahead_;       ///< word at `at_`
  std::int32_t at_;           ///< of the next word, which is aligned; may lie before begin_
  std::int32_t begin_;
  std::int32_t end_;
  int count_ = 0;         ///< unread bits, padding included
  int padding_ = 0;       ///< zeros appended in all
  bool escaped_ = false;  ///< the byte before was 0xFF
};

}  // namespace framewire::codec::cuda
