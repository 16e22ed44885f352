// What the chain of an AC scan has in shared memory.
#pragma once

#include <codec/cuda/decode/chain_code.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// What a chain reads, in shared memory. Rings hold the elements from where the chain is.
///
/// Its codes lie in two tables: those of up to kNearBits by the next bits; longer ones, which are
/// the last in the order of bits, by how far the next bits are behind the first of these. One table
/// for all would take more than twice the memory, and with it the place of other chains.
/// @tparam kRefines  of refinements, which have few codes; otherwise of first scans
template <bool kRefines>
struct ChainStore {
  static constexpr int kNearBits = 7;
  static constexpr std::uint32_t kNear = 1u << kNearBits;
  static constexpr std::uint32_t kFar = kRefines ? 64 : 128;
  static constexpr std::uint32_t kWords = 64;
  static constexpr std::uint32_t kHistories = kRefines ? 16 : 1;
  /// Words from where the chain is that come however long it stays there.
  static constexpr std::uint32_t kSureWords = 33;

  std::uint16_t codes[kNear + kFar];  ///< chain_code
  std::uint32_t words[kWords + 4];    ///< of AcScanDesc::words; the first one again at the end
  unsigned long long histories[kHistories];
  // Progress of the chain, which the feed reads between groups of rounds, and of the feed.
  std::uint32_t bit;
  std::uint32_t block;
  std::uint32_t known;         ///< blocks whose history behind this scan is known
  std::uint32_t known_before;  ///< the same before it, where first scans bring that
  std::uint32_t words_in;      ///< words that the feed has stored, from the scan's first one on
  std::uint32_t histories_in;  ///< histories that it has stored, likewise
  FarCodes far;
};

}  // namespace framewire::codec::cuda
