// A bounds-checked view of a TIFF block, as EXIF and MPF use it.
//
// Source: TIFF 6.0 section 2. Offsets count from the block's first byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <jpeg/bytes.hpp>
#include <optional>
#include <vector>

namespace framewire::jpeg {

enum class TiffType : std::uint16_t {
  kByte = 1,
  kAscii = 2,
  kShort = 3,
  kLong = 4,
  kUndefined = 7,
  kIfd = 13  ///< a LONG that is a directory's offset
};

/// A directory entry.
inline constexpr std::size_t kTiffEntryBytes = 12;

/// One directory entry, whose value is known to lie inside the block.
struct TiffEntry {
  std::uint16_t tag = 0;
  std::uint16_t type = 0;
  std::uint32_t count = 0;
  std::size_t value_offset =
      0;  ///< of the value itself: in the entry when it takes 4 bytes or less
  std::size_t value_bytes = 0;
};

struct TiffDirectory {
  std::vector<TiffEntry> entries;  ///< only those whose value lies inside the block
  std::size_t end_offset = 0;      ///< one past the directory
  std::size_t next_field_offset =
      0;  ///< of the field that holds the next directory's offset; 0: cut
  std::uint32_t next_offset = 0;
  bool damaged = false;  ///< an entry was left out, or the directory is cut

  [[nodiscard]] const TiffEntry* find(std::uint16_t tag) const noexcept;
};

class TiffView {
 public:
  /// @return nothing unless the block starts with a TIFF header
  [[nodiscard]] static std::optional<TiffView> open(ByteSpan block) noexcept;

  /// A view of bytes whose order is known from elsewhere, as in maker notes. Offsets count from the
  /// first byte.
  TiffView(ByteSpan block, bool little_endian) : block_(block), little_endian_(little_endian) {}

  [[nodiscard]] ByteSpan block() const noexcept { return block_; }
  [[nodiscard]] bool little_endian() const noexcept { return little_endian_; }
  [[nodiscard]] std::uint32_t first_directory_offset() const noexcept { return u32(4); }
  /// Fields at offsets that the caller has checked.
  [[nodiscard]] std::uint16_t u16(std::size_t at) const noexcept;
  [[nodiscard]] std::uint32_t u32(std::size_t at) const noexcept;

  /// @return nothing where not even the number of entries lies inside the block, or where the
  ///         directory would lie inside a TIFF header, `header_bytes` long
  [[nodiscard]] std::optional<TiffDirectory> directory(std::size_t offset,
                                                       std::size_t header_bytes = 8) const;

  /// A value of a BYTE, SHORT, LONG or IFD entry; nothing for others and beyond the last value.
  [[nodiscard]] std::optional<std::uint32_t> number(const TiffEntry& entry,
                                                    std::uint32_t index = 0) const noexcept;

 private:
  TiffView() = default;

  ByteSpan block_;
  bool little_endian_ = false;
};

}  // namespace framewire::jpeg
