// The pairs of Huffman tables of a batch, each once.
#pragma once

#include <array>
#include <codec/cuda/decode/entry.hpp>
#include <cstdint>
#include <gpu/upload_list.hpp>
#include <jpeg/types.hpp>
#include <string>
#include <unordered_map>

namespace framewire::codec::cuda {

/// Gives pairs of tables their index in a batch. Most files have the tables of the one before, so
/// that the last few pairs are compared first; they are known from one batch to the next, with
/// their canonical codes.
class TablePairs {
 public:
  void clear();
  /// @param codes  gets the canonical codes of a pair that is new to the batch, DC first
  std::uint32_t index_of(const jpeg::HuffmanTable& dc, const jpeg::HuffmanTable& ac,
                         gpu::UploadList<CanonicalCode>& codes);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Known {
    jpeg::HuffmanTable dc;
    jpeg::HuffmanTable ac;
    CanonicalCode codes[2] = {};
    bool used = false;
    std::uint32_t index = kNone;  ///< in the batch
  };
  /// Makes room for a pair, and remembers the one that leaves if the batch has it.
  Known& replace_oldest();

  std::array<Known, 4> known_;
  std::size_t oldest_ = 0;
  std::unordered_map<std::string, std::uint32_t> others_;  ///< of the batch, no longer in known_
};

}  // namespace framewire::codec::cuda
