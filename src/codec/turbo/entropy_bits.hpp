// Bits from the entropy-coded bytes of a clean file, many at a time.
//
// Source: ITU-T T.81 F.2.2.5 (stuffing). The refill reads eight bytes however many are left in the
// register: "variant 4" of F. Giesen, "Reading bits in far too many ways", 2018.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace framewire::codec::turbo {

/// A position in entropy-coded bytes. Reading never passes a marker or the end: zeros follow, and
/// overrun() tells afterwards. Small and copied into locals by the decoding loops, so that it lives
/// in registers there.
class EntropyBits {
 public:
  /// Bits that every refill() makes available.
  static constexpr int kRefilled = 56;

  EntropyBits() = default;
  EntropyBits(const std::uint8_t* begin, const std::uint8_t* end) : at_(begin), end_(end) {}
  // Member by member: a compiler that copies the whole keeps it in memory.
  EntropyBits(const EntropyBits& other)
      : at_(other.at_),
        window_(other.window_),
        end_(other.end_),
        count_(other.count_),
        padding_(other.padding_) {}
  EntropyBits& operator=(const EntropyBits& other) {
    at_ = other.at_;
    window_ = other.window_;
    end_ = other.end_;
    count_ = other.count_;
    padding_ = other.padding_;
    return *this;
  }

  /// Makes at least kRefilled bits available.
  void refill() {
    if (end_ - at_ >= 8) {
      const std::uint64_t word = load(at_);
      const std::uint64_t inverse = ~word;
      // The word's inverse has a zero byte where the word has 0xFF, which read byte by byte may be
      // stuffing or a marker.
      const bool has_ff = ((inverse - 0x0101010101010101u) & word & 0x8080808080808080u) != 0;
      if (!has_ff) [[likely]] {
        window_ |= word >> count_;
        at_ += (63 - count_) >> 3;
        count_ |= kRefilled;
        return;
      }
    }
    *this = refill_by_byte(EntropyBits(*this));
  }
  void need(int bits) {
    if (count_ < bits) refill();
  }

  /// The next `bits` bits, 1 to 32, right-aligned. They must be available, as for drop().
  [[nodiscard]] std::uint32_t peek(int bits) const {
    return static_cast<std::uint32_t>(window_ >> (64 - bits));
  }
  void drop(int bits) {
    window_ <<= bits & 63;
    count_ -= bits;
  }
  [[nodiscard]] std::uint32_t take(int bits) {
    const std::uint32_t value = peek(bits);
    drop(bits);
    return value;
  }

  /// As take(), of 0 to 63 bits.
  [[nodiscard]] std::uint64_t take_many(int bits) {
    const std::uint64_t value = (window_ >> 1) >> (63 - bits);
    drop(bits);
    return value;
  }

  /// Whether more bits were used than there are.
  [[nodiscard]] bool overrun() const { return padding_ > count_; }
  /// The marker at which the data ends, fill bytes before it skipped, once all whole bytes before
  /// these are used; otherwise null.
  [[nodiscard]] const std::uint8_t* end_of_data() const {
    const std::uint8_t* at = skip_fill(at_, end_);
    const std::int64_t unread = count_ - padding_;
    const bool at_marker = at == end_ || (*at == 0xFF && (end_ - at < 2 || at[1] != 0));
    return unread >= 0 && unread < 8 && at_marker ? at : nullptr;
  }

  /// Drops the rest of a byte of which some bits are used.
  void align() { drop(static_cast<int>((count_ - padding_) & 7)); }

 private:
  static std::uint64_t load(const std::uint8_t* at) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    return word;
  }

  /// Any marker may have fill bytes, 0xFF, before it (T.81 B.1.1.2).
  /// @return the last 0xFF of those that begin at `at`; `at` where none does
  static const std::uint8_t* skip_fill(const std::uint8_t* at, const std::uint8_t* end) {
    while (end - at >= 2 && at[0] == 0xFF && at[1] == 0xFF) ++at;
    return at;
  }

  /// Takes and returns its argument by value, so that the caller's copy can stay in registers.
  [[gnu::noinline]] static EntropyBits refill_by_byte(EntropyBits bits) {
    while (bits.count_ < kRefilled) {
      if (bits.at_ == bits.end_) return padded(bits);
      const std::uint64_t byte = *bits.at_;
      if (byte == 0xFF) {
        if (bits.end_ - bits.at_ < 2 || bits.at_[1] != 0) return padded(bits);
        ++bits.at_;
      }
      ++bits.at_;
      bits.window_ |= byte << (56 - bits.count_);
      bits.count_ += 8;
    }
    return bits;
  }
  static EntropyBits padded(EntropyBits bits) {
    bits.padding_ += kRefilled - bits.count_;
    bits.count_ = kRefilled;
    return bits;
  }

  // These members are ordered so that a compiler does not load and keep pairs of them as vectors.
  const std::uint8_t* at_ = nullptr;  ///< next byte that is not counted in
  std::uint64_t window_ = 0;  ///< unread bits at the top; below them zeros or bits of the next byte
  const std::uint8_t* end_ = nullptr;
  int count_ = 0;             ///< unread bits, padding included
  std::int64_t padding_ = 0;  ///< zeros appended in all
};

}  // namespace framewire::codec::turbo
