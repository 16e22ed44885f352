// The bytes and bits of one scan, up to its markers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace framewire::codec::reference {

/// Delivers entropy-coded bytes without their stuffing and halts at markers; finds restart markers.
///
/// Source: ITU-T T.81 B.1.1.5 and F.2.2.5; resynchronisation as in libjpeg.
class EntropySource {
 public:
  /// @param file   the whole input; @param begin, end  the scan's entropy-coded range in it
  EntropySource(std::span<const std::uint8_t> file, std::size_t begin, std::size_t end)
      : file_(file), at_(begin), end_(end) {}

  /// The next byte; zero, and at_marker() is true, from a marker or the end of the range onwards.
  std::uint8_t next_byte();
  /// The next bit, most significant first. Bits that are not there read as zero; then
  /// is_exhausted() is true.
  int next_bit();
  /// `count` bits, 0 to 16, as an unsigned number.
  std::int32_t next_bits(int count);

  /// Drops the rest of the segment and looks for RSTn, n = `expected`. Where that one is missing,
  /// the marker found may be left for its turn: then there is still no data.
  void restart(int expected);

  /// Whether whole bytes of data are left, anywhere in the range.
  [[nodiscard]] bool has_leftover() const;
  [[nodiscard]] bool at_marker() const { return marker_ != 0; }
  [[nodiscard]] bool is_exhausted() const { return exhausted_; }
  /// Whether a restart had to skip data or found another marker than the expected one.
  [[nodiscard]] bool was_resynchronised() const { return resynchronised_; }
  /// Whether the range reaches the end of the input, with no marker behind it.
  [[nodiscard]] bool ends_with_input() const { return end_ == file_.size(); }
  [[nodiscard]] std::size_t offset() const { return at_; }

 private:
  void find_marker();

  std::span<const std::uint8_t> file_;
  std::size_t at_;
  std::size_t end_;
  std::uint8_t marker_ = 0;  ///< marker code met and not taken; kEnd at the end of the range
  std::uint8_t bits_ = 0;
  int bit_count_ = 0;
  bool exhausted_ = false;
  bool resynchronised_ = false;
};

}  // namespace framewire::codec::reference
