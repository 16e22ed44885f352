// Changes to a TIFF block where it lies, so that every offset in it stays good.
//
// Source: TIFF 6.0 section 2. All positions count from the block's first byte, also those of a
// maker note's directories, whatever their own offsets count from.
#pragma once

#include <cstdint>
#include <jpeg/bytes.hpp>
#include <jpeg/embedded.hpp>
#include <jpeg/tiff.hpp>
#include <optional>
#include <vector>

namespace framewire::jpeg {

/// Where a directory lies, how its numbers are written, and where its offsets count from.
struct TiffPlace {
  std::size_t at = 0;
  std::size_t base = 0;
  bool little_endian = false;
};

/// Overwrites a number of 1 to 4 bytes, which the caller knows to lie inside the block.
void put_number(Bytes& block, bool little_endian, std::size_t at, std::uint32_t value, int bytes);

/// Where the entry of a tag lies, if the directory has one; its count follows 4 bytes behind.
[[nodiscard]] std::optional<std::size_t> entry_position(ByteSpan block, const TiffPlace& place,
                                                        std::uint16_t tag);

/// Takes an entry out of a directory: those behind it move up, and so does a copy of what follows
/// the last, which is the offset of the next directory. Nothing outside the directory moves.
void remove_entry(Bytes& block, const TiffPlace& place, std::uint16_t tag);

/// Renames an entry to a tag that nobody knows, and makes its value nothing. The directory keeps
/// its length and the place of its values, because readers of maker notes guess from them what
/// offsets count from. If the value lies outside the entry, the caller has erased it, and the entry
/// still points there.
void retire_entry(Bytes& block, const TiffPlace& place, std::uint16_t tag);

/// The pictures that a directory of a thumbnail or preview points to: JPEGInterchangeFormat, and
/// strips; cut at the view's end.
[[nodiscard]] std::vector<ByteRange> picture_ranges(const TiffView& view,
                                                    const TiffDirectory& directory);

/// The ranges in order, those that touch made one, so that going through them is linear in the
/// block however they overlap.
[[nodiscard]] std::vector<ByteRange> merged(std::vector<ByteRange> ranges);

}  // namespace framewire::jpeg
