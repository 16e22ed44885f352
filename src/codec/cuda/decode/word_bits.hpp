// Bits of one scan from anywhere in it, read from words that hold no stuffing.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

class WordBits {
 public:
  /// Bits that refill() makes available: enough for a code of 16 bits and 15 more.
  static constexpr int kRefilled = 32;

  /// @param words  big-endian; the last one holds zeros, and is read again behind the end
  FW_HD WordBits(const std::uint32_t* words, std::uint32_t word_count, std::uint32_t bit)
      : words_(words), last_(word_count - 1), used_(bit / 32), ahead_(load()) {
    refill();
    drop(static_cast<int>(bit % 32));
  }

  /// Makes at least kRefilled bits available.
  FW_HD void refill() {
    if (count_ >= kRefilled) return;
    window_ |= static_cast<std::uint64_t>(ahead_) << (32 - count_);
    count_ += 32;
    ++used_;
    ahead_ = load();
  }
  /// The next bits, the first one highest; zeros behind those that are available.
  FW_HD std::uint64_t window() const { return window_; }
  /// Drops bits that are available; fewer than 64.
  FW_HD void drop(int bits) {
    window_ <<= bits;
    count_ -= bits;
  }
  /// The next `bits` bits, 0 to 63, right-aligned.
  FW_HD std::uint64_t take(int bits) {
    std::uint64_t taken = 0;
    if (bits > 32) {
      refill();
      taken = window_ >> 32;
      drop(32);
      bits -= 32;
    }
    if (bits == 0) return taken;
    refill();
    taken = taken << bits | window_ >> (64 - bits);
    drop(bits);
    return taken;
  }

 private:
  FW_HD std::uint32_t load() const { return words_[used_ < last_ ? used_ : last_]; }

  const std::uint32_t* words_;
  std::uint32_t last_;        ///< index of the last word
  std::uint64_t window_ = 0;  ///< unread bits at the top
  std::uint32_t used_;        ///< words in the window, and before it
  std::uint32_t ahead_;       ///< the next one
  int count_ = 0;             ///< unread bits
};

}  // namespace framewire::codec::cuda
