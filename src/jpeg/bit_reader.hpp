// Bits from entropy-coded bytes, for host and device; how words are fetched is a template
// parameter.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::jpeg {

/// Entropy bytes as they lie in a file: removes the zero after 0xFF, stops at any marker.
/// Fill bytes before a stuffed zero count as one, as in libjpeg.
class StuffedBytes {
 public:
  FW_HD StuffedBytes(const std::uint8_t* begin, const std::uint8_t* end) : at_(begin), end_(end) {}

  /// Fetches up to 4 bytes, right-aligned in `word`. @return number of bits; 0 at the end
  FW_HD int fetch(std::uint32_t& word) {
    word = 0;
    int count = 0;
    while (count < 32 && at_ != end_) {
      std::uint32_t byte = *at_;
      if (byte != 0xFF) {
        ++at_;
      } else if (!take_stuffed()) {
        break;
      }
      word = word << 8 | byte;
      count += 8;
    }
    return count;
  }

  /// The first byte not fetched: after fetch() returned 0, a marker's 0xFF or the end.
  FW_HD const std::uint8_t* position() const { return at_; }

 private:
  /// At a 0xFF: moves past it and its zero, or leaves a marker where it is.
  FW_HD bool take_stuffed() {
    const std::uint8_t* next = at_ + 1;
    while (next != end_ && *next == 0xFF) ++next;
    if (next == end_ || *next != 0) return false;
    at_ = next + 1;
    return true;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

/// Entropy bytes whose stuffing is already gone.
class PlainBytes {
 public:
  FW_HD PlainBytes(const std::uint8_t* begin, const std::uint8_t* end) : at_(begin), end_(end) {}

  FW_HD int fetch(std::uint32_t& word) {
    word = 0;
    int count = 0;
    while (count < 32 && at_ != end_) {
      word = word << 8 | *at_++;
      count += 8;
    }
    return count;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

/// Reads bits, most significant first; beyond the end it reads zeros and says so.
/// @tparam Source  copyable; int fetch(uint32_t& word) gives the next 0 to 32 bits, right-aligned,
///                 and 0 only at the end
template <typename Source>
class BitReader {
 public:
  FW_HD explicit BitReader(Source source) : source_(source) {}

  /// The next `count` bits, 1 to 32, without consuming them.
  FW_HD std::uint32_t peek(int count) {
    if (available_ < count) refill();
    return static_cast<std::uint32_t>(window_ >> (64 - count));
  }
  /// Consumes up to 32 bits.
  FW_HD void drop(int count) {
    if (available_ < count) refill();
    window_ <<= count;
    available_ -= count;
    consumed_ += static_cast<std::uint32_t>(count);
  }
  /// Reads up to 32 bits; 0 bits read as 0.
  FW_HD std::uint32_t get(int count) {
    if (count == 0) return 0;
    const std::uint32_t bits = peek(count);
    drop(count);
    return bits;
  }

  /// Bits consumed so far, those beyond the end included.
  FW_HD std::uint64_t consumed_bits() const { return consumed_; }
  /// Whether bits beyond the end have been consumed.
  FW_HD bool overrun() const { return consumed_ > fetched_; }
  FW_HD const Source& source() const { return source_; }

 private:
  FW_HD void refill() {
    while (available_ <= 32) {
      std::uint32_t word = 0;
      const int count = source_.fetch(word);
      if (count == 0) {
        available_ += 32;  // zeros, which the window already holds below its last bit
        continue;
      }
      window_ |= static_cast<std::uint64_t>(word) << (64 - available_ - count);
      available_ += count;
      fetched_ += static_cast<std::uint32_t>(count);
    }
  }

  Source source_;
  std::uint64_t window_ = 0;  ///< unread bits, at the top
  std::uint64_t consumed_ = 0;
  std::uint64_t fetched_ = 0;
  int available_ = 0;  ///< unread bits in the window, padding included
};

}  // namespace framewire::jpeg
