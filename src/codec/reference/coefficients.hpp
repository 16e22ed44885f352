// The quantised coefficients of a whole picture, and how a file's scans deliver them.
#pragma once

#include <array>
#include <codec/codec.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <vector>

namespace framewire::codec::reference {

using Block = std::array<std::int16_t, jpeg::kBlockSize>;  ///< natural order

/// Blocks of one component, the padding of interleaved scans included.
struct ComponentBlocks {
  std::int32_t width_blocks = 0;
  std::int32_t height_blocks = 0;
  std::vector<Block> blocks;  ///< [height_blocks][width_blocks]

  [[nodiscard]] Block& at(std::int32_t column, std::int32_t row) {
    return blocks[static_cast<std::size_t>(row) * width_blocks + column];
  }
  [[nodiscard]] const Block& at(std::int32_t column, std::int32_t row) const {
    return blocks[static_cast<std::size_t>(row) * width_blocks + column];
  }
};

struct PaddedCoefficients {
  std::vector<ComponentBlocks> components;  ///< one a component of the frame
  std::vector<Warning> warnings;            ///< each kind once, where it was first met
};

/// Decodes the entropy-coded data of every scan: Huffman and arithmetic, sequential and
/// progressive.
///
/// Source: ITU-T T.81 F.2 and G.2. Damaged data is decoded as libjpeg-turbo 2.1 does, so that
/// codecs built on it can be compared coefficient by coefficient:
/// - Beyond the end of a segment's Huffman data zero bits are read, to the end of the MCU; later
///   MCUs of the segment are not decoded. Arithmetic data ends in any number of zero bytes.
/// - A bad Huffman code costs 17 bits and reads as symbol 0; a bad arithmetic value ends its
///   segment.
/// - At the end of a restart interval the next marker is looked for; one of the next two RSTn in
///   sequence is left for its turn, one of the two before is passed over, any other is accepted.
/// - Of a sequential file whose first scan has all components, only that scan counts.
/// - Scans of a component add to what is there; nothing is cleared.
/// @param file  a frame that jpeg::check_supported() accepts
/// @return invalid_input where no scan has data, a scan's tables are missing or unusable or its
///         parameters break T.81 G.1.1.1; with context.strict, on any warning; too_large for more
///         than context.max_scans; unsupported for lossless and hierarchical frames; deadline
/// @cost one pass over the entropy bytes, bit by bit; 128 bytes a block
[[nodiscard]] Result<PaddedCoefficients> decode_coefficients(const jpeg::JpegFile& file,
                                                             const Context& context);

/// Adds a warning unless one of its kind is there.
void warn_once(std::vector<Warning>& warnings, WarningKind kind, std::string message,
               std::optional<std::uint64_t> offset);

}  // namespace framewire::codec::reference
