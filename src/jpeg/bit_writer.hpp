// Bits into entropy-coded bytes, with the zero after each 0xFF.
#pragma once

#include <cstdint>
#include <jpeg/huffman.hpp>
#include <vector>

namespace framewire::jpeg {

/// Appends bits, most significant first, to a byte vector that outlives it.
class BitWriter {
 public:
  explicit BitWriter(std::vector<std::uint8_t>& out) : out_(out) {}

  /// @param bits   right-aligned; bits above `count` are ignored
  /// @param count  0 to 32
  void put(std::uint32_t bits, int count) {
    if (count == 0) return;
    const std::uint64_t mask = (std::uint64_t{1} << count) - 1;
    window_ = window_ << count | (bits & mask);
    pending_ += count;
    while (pending_ >= 8) {
      pending_ -= 8;
      put_byte(static_cast<std::uint8_t>(window_ >> pending_));
    }
  }

  void put_symbol(const HuffmanEncodeTable& table, std::uint8_t symbol) {
    put(table.code[symbol], table.length[symbol]);
  }

  /// Fills the last byte with ones (T.81 F.1.2.3).
  void flush() {
    if (pending_ > 0) put(0xFF, 8 - pending_);
  }

  /// Flushes and appends RSTn; the caller resets its predictors.
  /// @param index  the interval just ended, counted from 0
  void put_restart(int index) {
    flush();
    out_.push_back(0xFF);
    out_.push_back(static_cast<std::uint8_t>(0xD0 + (index & 7)));
  }

 private:
  void put_byte(std::uint8_t byte) {
    out_.push_back(byte);
    if (byte == 0xFF) out_.push_back(0);
  }

  std::vector<std::uint8_t>& out_;
  std::uint64_t window_ = 0;
  int pending_ = 0;  ///< bits of the window not written yet; below 8 between calls
};

}  // namespace framewire::jpeg
