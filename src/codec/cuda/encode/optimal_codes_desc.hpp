// A stream's own Huffman codes in the batch's memory, and the serial half of making them.
//
// Source: T.81 K.2, figures K.3 and K.4, C.1 to C.3; jpeg/huffman_optimal.cpp is the host's.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

inline constexpr int kHuffmanSymbols = 257;  ///< the last takes, and so reserves, the all-ones code
inline constexpr int kMaxDepth = 64;         ///< of a tree over fewer than 2^40 symbols: at most 57

/// Huffman codes of one stream. Tables in the order luminance DC, AC, chrominance DC, AC.
struct OptimalCodes {
  std::uint32_t histogram[4][256];  ///< zero between uses
  std::uint32_t codes[4][256];      ///< length << 16 | code, as EncodeView::codes
  std::uint32_t segment_bytes[4];   ///< of the DHT segments
  std::uint8_t segments[4][288];    ///< marker, length, class and slot, counts, values
};

/// Shortens codes above 16 bits (figure K.3). @param counts  [kMaxDepth + 1] codes of each length
FW_HD inline void limit_lengths(std::uint16_t* counts) {
  for (int length = kMaxDepth; length > 16; --length) {
    while (counts[length] > 0) {
      int shorter = length - 2;
      while (counts[shorter] == 0) --shorter;
      counts[length] = static_cast<std::uint16_t>(counts[length] - 2);
      counts[length - 1] = static_cast<std::uint16_t>(counts[length - 1] + 1);
      counts[shorter + 1] = static_cast<std::uint16_t>(counts[shorter + 1] + 2);
      counts[shorter] = static_cast<std::uint16_t>(counts[shorter] - 1);
    }
  }
}

/// Turns a tree's depths into a DHT segment and codes.
/// @param depths    [kHuffmanSymbols] 0 for symbols without a code
/// @param table_id  class << 4 | slot
/// @param segment   [288]
/// @param codes     [256]; 0 for symbols without a code
/// @return bytes of the segment
FW_HD inline std::uint32_t assign_codes(const std::uint8_t* depths, std::uint32_t table_id,
                                        std::uint8_t* segment, std::uint32_t* codes) {
  std::uint16_t counts[kMaxDepth + 1] = {};
  for (int i = 0; i < kHuffmanSymbols; ++i) ++counts[depths[i]];
  counts[0] = 0;
  int deepest = kMaxDepth;
  while (deepest > 0 && counts[deepest] == 0) --deepest;
  limit_lengths(counts);
  int longest = 16;
  while (longest > 0 && counts[longest] == 0) --longest;
  if (longest > 0) --counts[longest];  // the reserved symbol's code
  for (int i = 0; i < 256; ++i) codes[i] = 0;
  // In the order of tree depth, which limiting keeps.
  std::uint32_t used = 0;
  int length = 1;
  std::uint32_t left = counts[1];
  std::uint32_t next = 0;
  for (int depth = 1; depth <= deepest; ++depth) {
    for (int symbol = 0; symbol < 256; ++symbol) {
      if (depths[symbol] != depth) continue;
      while (left == 0 && length < 16) left = counts[++length], next <<= 1;
      segment[21 + used++] = static_cast<std::uint8_t>(symbol);
      codes[symbol] = static_cast<std::uint32_t>(length) << 16 | next++;
      --left;
    }
  }
  const std::uint32_t payload = 19 + used;
  segment[0] = 0xFF, segment[1] = 0xC4;
  segment[2] = static_cast<std::uint8_t>(payload >> 8);
  segment[3] = static_cast<std::uint8_t>(payload);
  segment[4] = static_cast<std::uint8_t>(table_id);
  for (int i = 1; i <= 16; ++i) segment[4 + i] = static_cast<std::uint8_t>(counts[i]);
  return payload + 2;
}

}  // namespace framewire::codec::cuda
