// Removes the stuffing of one subsequence: its file bytes become a column of big-endian words.
//
// Idea: subsequences are cut every so many bytes of the file, not of the unstuffed stream, so that
// nothing must be counted, summed or searched before. A column also gets the first bytes of the
// next subsequences, as many as its last symbol can reach into.
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

/// Collects bytes into words and stores two at a time through `store(pair_index, first, second)`.
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
  /// @param bytes  how many, 1 to 4, in the low end of `value`; the last one is lowest
  FW_HD void put_bytes(std::uint32_t value, std::uint32_t bytes) {
    pending_ = pending_ << (8 * bytes) | value;
    bits_ += static_cast<int>(8 * bytes);
    if (bits_ < 32) return;
    bits_ -= 32;
    emit(static_cast<std::uint32_t>(pending_ >> bits_));
  }
  /// Appends ones, which is how an encoder pads, as far as a decoder of `bits` bits may look.
  FW_HD void fill(std::uint32_t bits) {
    if (bits_ != 0) {
      emit(static_cast<std::uint32_t>(pending_ << (32 - bits_)) | ((1u << (32 - bits_)) - 1));
    }
    while (count_ < words_ && (count_ < bits / 32 + 5 || count_ % 2 != 0)) emit(0xFFFFFFFFu);
  }
  FW_HD bool full() const { return count_ >= words_; }

 private:
  FW_HD void emit(std::uint32_t word) {
    if (count_ % 2 != 0 && count_ < words_) store_(count_ / 2, first_, word);
    first_ = word;
    ++count_;
  }
  Store store_;
  std::uint32_t words_;
  std::uint32_t first_ = 0;  ///< of a pair
  std::uint64_t pending_ = 0;
  int bits_ = 0;
  std::uint32_t count_ = 0;
};

/// Bit 7 of each byte that is 0xFF.
FW_HD constexpr std::uint32_t escapes(std::uint32_t word) {
  return ((word & 0x7F7F7F7Fu) + 0x01010101u) & word & 0x80808080u;
}
/// Bit 7 of each byte that is not zero.
FW_HD constexpr std::uint32_t nonzero_bytes(std::uint32_t word) {
  return (((word & 0x7F7F7F7Fu) + 0x7F7F7F7Fu) | word) & 0x80808080u;
}
/// Moves bit 7 of four bytes to bits 0 to 3.
FW_HD constexpr std::uint32_t gather_bits(std::uint32_t bytes) {
  return (bytes >> 7) * 0x01020408u >> 24 & 0xF;
}
/// How many of the four bits 7 are set.
FW_HD constexpr std::uint32_t count_bytes(std::uint32_t bytes) {
  return (bytes >> 7) * 0x01010101u >> 24;
}
/// The bytes of a word that `dropped` does not name, the last one lowest.
/// @param dropped  bit 7 of at most two bytes, neither of them the first
FW_HD inline std::uint32_t drop_bytes(std::uint32_t word, std::uint32_t dropped) {
  const bool second = (dropped & 0x8000u) != 0;
  const bool third = (dropped & 0x800000u) != 0;
  const bool last = (dropped & 0x80000000u) != 0;
#if defined(__CUDA_ARCH__)
  // The last byte is dropped in any case; this selects among the other three.
  const std::uint32_t of_three = second ? 0x4402u : third ? 0x4401u : 0x4012u;
  return __byte_perm(word, 0, last ? of_three : second ? 0x4023u : third ? 0x4013u : 0x0123u);
#else
  std::uint32_t kept = word & 0xFF;
  if (!second) kept = kept << 8 | (word >> 8 & 0xFF);
  if (!third) kept = kept << 8 | (word >> 16 & 0xFF);
  if (!last) kept = kept << 8 | word >> 24;
  return kept;
#endif
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

/// Reads four bytes at any address, from the aligned words that hold them.
FW_HD inline std::uint32_t load_unaligned(const std::uint8_t* at) {
#if defined(__CUDA_ARCH__)
  const auto skipped = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(at) & 3);
  const auto* words = reinterpret_cast<const std::uint32_t*>(at - skipped);
  return __funnelshift_r(words[0], words[1], skipped * 8);
#else
  std::uint32_t word = 0;
  __builtin_memcpy(&word, at, 4);
  return word;
#endif
}

/// Walks through bytes: up to four at once, but singly around 0xFF.
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
  /// Takes bytes in file order, the first lowest; either all of the subsequence itself or all
  /// behind it.
  /// @param count  1 to 4; `word` may hold anything beyond them
  FW_HD bool take_bytes(std::uint32_t word, std::uint32_t count) {
    if (count == 4) return take_word(word);
    word &= (1u << (8 * count)) - 1;
    if (escaped_ || escapes(word) != 0) return take_each(word, count);
    packer_.put_bytes(swap_bytes(word) >> (32 - 8 * count), count);
    return advance(count, count);
  }
  FW_HD bool take_word(std::uint32_t word) {
    const std::uint32_t found = escapes(word);
    if (!escaped_ && found == 0) {
      packer_.put_word(swap_bytes(word));
      return advance(4, 4);
    }
    // Unless a zero follows each 0xFF, as usual, bytes are taken one by one.
    const std::uint32_t followers = found << 8 | (escaped_ ? 0x80u : 0u);
    if ((followers & nonzero_bytes(word)) != 0 || (escaped_ && at_ >= own_end_)) {
      return take_each(word, 4);
    }
    // A 0xFF held back earlier takes the place of its zero; a last byte of 0xFF is held back.
    const std::uint32_t dropped = found << 8 | (found & 0x80000000u);
    if (escaped_) word |= 0xFF;
    escaped_ = found >> 31 != 0;
    const std::uint32_t kept = 4 - count_bytes(dropped);
    packer_.put_bytes(drop_bytes(word, dropped), kept);
    return advance(4, kept);
  }
  FW_HD std::uint32_t at() const { return at_; }
  FW_HD UnstuffResult take_result(std::uint32_t end) {
    if (escaped_ && at_ >= end && at_ - 1 < own_end_) result_.marker = at_ - 1;  // cut off inside
    packer_.fill(result_.bytes * 8);
    return result_;
  }

 private:
  FW_HD bool take_each(std::uint32_t word, std::uint32_t count) {
    for (; count != 0; --count, word >>= 8) {
      if (!take(word & 0xFF)) return false;
    }
    return true;
  }
  FW_HD bool advance(std::uint32_t count, std::uint32_t kept) {
    result_.bytes += at_ < own_end_ ? kept : 0;
    at_ += count;
    return !packer_.full();
  }

  WordPacker<Store> packer_;
  UnstuffResult result_;
  std::uint32_t at_;
  std::uint32_t own_end_;
  bool escaped_ = false;
};

/// Subsequences up to this length are read in unaligned words. Measured (H100, batches of 512, a
/// restart marker in each MCU): 1.76 instead of 2.11 µs an image.
inline constexpr std::uint32_t kShortBytes = 128;

/// @param data     the segment's bytes; whole aligned quads are read around them, and up to seven
///                 bytes behind the last
/// @param begin    first byte of the subsequence
/// @param own_end  one past its last
/// @param end      one past the segment's last byte
/// @param words    of the column, an even number
/// @param first    whether the segment begins here; otherwise data[begin − 1] exists
template <typename Store>
FW_HD inline UnstuffResult unstuff(const std::uint8_t* data, std::uint32_t begin,
                                   std::uint32_t own_end, std::uint32_t end, std::uint32_t words,
                                   bool first, const Store& store) {
  // If the byte before is 0xFF, a zero here belongs to it.
  const bool inherited = !first && begin < end && data[begin - 1] == 0xFF;
  Unstuffer<Store> unstuffer(store, words, begin + (inherited ? 1 : 0), own_end);
  bool more = true;
  // A short subsequence begins at any address; from there on lanes read words side by side.
  while (own_end - begin <= kShortBytes && more && unstuffer.at() < end) {
    const std::uint32_t at = unstuffer.at();
    const std::uint32_t left = (at < own_end ? own_end : end) - at;
    more = unstuffer.take_bytes(load_unaligned(data + at), left < 4 ? left : 4);
  }
  // Aligned quads, read one ahead, as memory answers late.
  const std::uint8_t* next = data + unstuffer.at();
  next -= reinterpret_cast<std::uintptr_t>(next) & 15;
  Quad ahead{};
  if (unstuffer.at() < end) ahead = load_quad(next);
  while (more && unstuffer.at() < end) {
    const Quad quad = ahead;
    next += 16;
    const auto quad_end = static_cast<std::uint32_t>(next - data);
    if (quad_end < end) ahead = load_quad(next);
    const bool whole = unstuffer.at() + 16 == quad_end && quad_end <= own_end;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (std::uint32_t w = 0; w < 4; ++w) {
      if (whole) {
        more = more && unstuffer.take_word(quad.words[w]);
        continue;
      }
      // The rest of this word: bytes of the subsequence, then those behind it.
      while (more && unstuffer.at() < end) {
        const std::uint32_t at = unstuffer.at();
        const auto rest = static_cast<std::int32_t>(quad_end + 4 * w - at) - 12;
        if (rest <= 0) break;
        const std::uint32_t skipped = 4 - static_cast<std::uint32_t>(rest);
        const std::uint32_t limit = (at < own_end ? own_end : end) - at;
        const std::uint32_t count = limit < 4 - skipped ? limit : 4 - skipped;
        more = unstuffer.take_bytes(quad.words[w] >> (8 * skipped), count);
      }
    }
  }
  return unstuffer.take_result(end);
}

}  // namespace framewire::codec::cuda
