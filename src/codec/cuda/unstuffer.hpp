// Removes the stuffing of one subsequence: its file bytes become a column of big-endian words.
//
// Idea: subsequences are cut at file positions, every kSubsequenceBytes, not at positions of the
// unstuffed stream, so that no count, scan or search comes before. Each column goes on with the
// first bytes of its successors, as many as a symbol can reach into.
#pragma once

#include <codec/cuda/tuning.h>
#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

inline constexpr std::uint32_t kNoMarker = 0xFFFFFFFFu;

struct UnstuffResult {
  std::uint32_t bytes = 0;           ///< unstuffed bytes of the subsequence itself
  std::uint32_t marker = kNoMarker;  ///< where in the segment the first marker in it begins
};

FW_HD inline std::uint32_t swap_bytes(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(word, 0, 0x0123);
#else
  return __builtin_bswap32(word);
#endif
}

/// Collects bytes into words and stores them through `store(word_index, word)`.
template <typename Store>
class WordPacker {
 public:
  FW_HD explicit WordPacker(const Store& store) : store_(store) {}
  FW_HD void put_byte(std::uint32_t byte) {
    pending_ = pending_ << 8 | byte;
    bits_ += 8;
    if (bits_ == 32) {
      emit(static_cast<std::uint32_t>(pending_));
      bits_ = 0;
    }
  }
  FW_HD void put_word(std::uint32_t word) {
    pending_ = pending_ << 32 | word;
    emit(static_cast<std::uint32_t>(pending_ >> bits_));
  }
  /// Ones, as the encoder pads, to the end of the column.
  FW_HD void fill() {
    if (bits_ != 0)
      emit(static_cast<std::uint32_t>(pending_ << (32 - bits_)) | ((1u << (32 - bits_)) - 1));
    while (count_ < kColumnWords) emit(0xFFFFFFFFu);
  }
  FW_HD bool full() const { return count_ >= kColumnWords; }

 private:
  FW_HD void emit(std::uint32_t word) {
    if (count_ < kColumnWords) store_(count_, word);
    ++count_;
  }
  Store store_;
  std::uint64_t pending_ = 0;
  int bits_ = 0;
  int count_ = 0;
};

/// @param data   the segment's words, 4-byte aligned, readable to the next multiple of 4 of `end`
/// @param begin  first byte of the subsequence, a multiple of 4 from `data`, unless `bytewise`
/// @param own_end  one past its last byte; @param end  one past the segment's last byte
template <typename Store>
FW_HD inline UnstuffResult unstuff(const std::uint8_t* data, std::uint32_t begin,
                                   std::uint32_t own_end, std::uint32_t end, bool first,
                                   const Store& store) {
  WordPacker<Store> packer(store);
  UnstuffResult result;
  std::uint32_t at = begin;
  bool escaped = false;
  if (!first && begin < end && data[begin - 1] == 0xFF) ++at;  // the zero belongs to the last one
  while (at < end && !packer.full()) {
    if (!escaped && (reinterpret_cast<std::uintptr_t>(data + at) & 3) == 0 && at + 4 <= own_end) {
      const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(data + at);
      if ((((word & 0x7F7F7F7Fu) + 0x01010101u) & word & 0x80808080u) == 0) {
        packer.put_word(swap_bytes(word));
        result.bytes += 4;
        at += 4;
        continue;
      }
    }
    const std::uint32_t byte = data[at];
    if (escaped) {
      if (byte != 0) {
        if (at - 1 < own_end) result.marker = at - 1;
        break;
      }
      escaped = false;
      packer.put_byte(0xFF);
      result.bytes += at - 1 < own_end ? 1 : 0;
    } else if (byte == 0xFF) {
      escaped = true;
    } else {
      packer.put_byte(byte);
      result.bytes += at < own_end ? 1 : 0;
    }
    ++at;
  }
  if (escaped && at >= end && at - 1 < own_end) result.marker = at - 1;  // cut off inside
  packer.fill();
  return result;
}

}  // namespace framewire::codec::cuda
