// Removes the stuffing of one subsequence: its file bytes become a column of big-endian words.
//
// Idea: subsequences are cut at file positions, every so many bytes, not at positions of the
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
  FW_HD WordPacker(const Store& store, std::uint32_t words) : store_(store), words_(words) {}
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
  /// Ones, as the encoder pads, as far as a decoder of `bits` bits may look.
  FW_HD void fill(std::uint32_t bits) {
    if (bits_ != 0)
      emit(static_cast<std::uint32_t>(pending_ << (32 - bits_)) | ((1u << (32 - bits_)) - 1));
    while (count_ < words_ && count_ < bits / 32 + 4) emit(0xFFFFFFFFu);
  }
  FW_HD bool full() const { return count_ >= words_; }

 private:
  FW_HD void emit(std::uint32_t word) {
    if (count_ < words_) store_(count_, word);
    ++count_;
  }
  Store store_;
  std::uint32_t words_;
  std::uint64_t pending_ = 0;
  int bits_ = 0;
  std::uint32_t count_ = 0;
};

FW_HD inline bool has_escape(std::uint32_t word) {
  return (((word & 0x7F7F7F7Fu) + 0x01010101u) & word & 0x80808080u) != 0;
}

struct Quad {
  std::uint32_t words[4];
};
FW_HD inline Quad load_quad(const std::uint8_t* at) {
#if defined(__CUDA_ARCH__)
  const uint4 q = *reinterpret_cast<const uint4*>(at);
  return {{q.x, q.y, q.z, q.w}};
#else
  Quad q{};
  __builtin_memcpy(&q, at, 16);
  return q;
#endif
}

FW_HD inline std::uint32_t load_word(const std::uint8_t* at) {
#if defined(__CUDA_ARCH__)
  return *reinterpret_cast<const std::uint32_t*>(at);
#else
  std::uint32_t word = 0;
  __builtin_memcpy(&word, at, 4);
  return word;
#endif
}

/// Walks through bytes, one at a time or up to 16 while nothing needs care.
template <typename Store>
class Unstuffer {
 public:
  FW_HD Unstuffer(const Store& store, std::uint32_t words, std::uint32_t begin,
                  std::uint32_t own_end)
      : packer_(store, words), at_(begin), own_end_(own_end) {}

  /// @return false at a marker or when the column is full
  FW_HD bool take(std::uint32_t byte) {
    if (escaped_) {
      if (byte != 0) {
        if (at_ - 1 < own_end_) result_.marker = at_ - 1;
        return false;
      }
      escaped_ = false;
      packer_.put_byte(0xFF);
      result_.bytes += at_ - 1 < own_end_ ? 1 : 0;
    } else if (byte == 0xFF) {
      escaped_ = true;
    } else {
      packer_.put_byte(byte);
      result_.bytes += at_ < own_end_ ? 1 : 0;
    }
    ++at_;
    return !packer_.full();
  }
  /// Four bytes in file order, lowest first, all of the subsequence itself.
  FW_HD bool take_word(std::uint32_t word) {
    if (!escaped_ && !has_escape(word)) {
      packer_.put_word(swap_bytes(word));
      result_.bytes += 4;
      at_ += 4;
      return true;
    }
    for (int i = 0; i < 4; ++i, word >>= 8)
      if (!take(word & 0xFF)) return false;
    return true;
  }
  FW_HD std::uint32_t at() const { return at_; }
  FW_HD UnstuffResult finish(std::uint32_t end) {
    if (escaped_ && at_ >= end && at_ - 1 < own_end_) result_.marker = at_ - 1;  // cut off inside
    packer_.fill(result_.bytes * 8);
    return result_;
  }

 private:
  WordPacker<Store> packer_;
  UnstuffResult result_;
  std::uint32_t at_;
  std::uint32_t own_end_;
  bool escaped_ = false;
};

/// @param data   the segment's bytes
/// @param begin  first byte of the subsequence; @param own_end  one past its last
/// @param end  one past the segment's last byte
/// @param words  of the column
/// @param first  whether the segment begins here; otherwise data[begin − 1] exists
template <typename Store>
FW_HD inline UnstuffResult unstuff(const std::uint8_t* data, std::uint32_t begin,
                                   std::uint32_t own_end, std::uint32_t end, std::uint32_t words,
                                   bool first, const Store& store) {
  // A zero that belongs to the 0xFF before is not ours.
  const bool inherited = !first && begin < end && data[begin - 1] == 0xFF;
  Unstuffer<Store> unstuffer(store, words, begin + (inherited ? 1 : 0), own_end);
  bool more = true;
  while (more && unstuffer.at() < end) {
    const std::uint8_t* next = data + unstuffer.at();
    if ((reinterpret_cast<std::uintptr_t>(next) & 15) == 0 && unstuffer.at() + 16 <= own_end) {
      const Quad quad = load_quad(next);
      for (int i = 0; i < 4 && more; ++i) more = unstuffer.take_word(quad.words[i]);
    } else if ((reinterpret_cast<std::uintptr_t>(next) & 3) == 0 && unstuffer.at() + 4 <= own_end) {
      more = unstuffer.take_word(load_word(next));
    } else {
      more = unstuffer.take(*next);
    }
  }
  return unstuffer.finish(end);
}

}  // namespace framewire::codec::cuda
