// Huffman tables as files carry them, in the form that the kernels walk.
#pragma once

#include <algorithm>
#include <codec/cuda/decode/entry.hpp>
#include <jpeg/types.hpp>

namespace framewire::codec::cuda {

/// @param table  jpeg::is_valid()
[[nodiscard]] inline CanonicalCode make_canonical(const jpeg::HuffmanTable& table) {
  CanonicalCode code{};
  std::uint32_t next = 0;
  std::int32_t index = 0;
  for (int length = 1; length <= 16; ++length) {
    const auto slot = static_cast<std::size_t>(length);
    code.offset[slot] = index - static_cast<std::int32_t>(next);
    next += table.counts[slot - 1];
    index += table.counts[slot - 1];
    code.limit[slot] = next << (16 - length);
    next <<= 1;
  }
  std::copy(table.values.begin(), table.values.end(), code.values);
  return code;
}

}  // namespace framewire::codec::cuda
