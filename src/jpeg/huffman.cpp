#include <algorithm>
#include <array>
#include <cstddef>
#include <jpeg/huffman.hpp>

namespace framewire::jpeg {
namespace {

/// Calls visit(code, length, index) for each code in order of increasing length (T.81 C.2).
template <typename Visit>
void for_each_code(const HuffmanTable& table, Visit visit) {
  std::uint32_t code = 0;
  int index = 0;
  for (int length = 1; length <= kMaxCodeBits; ++length) {
    for (int i = 0; i < table.counts[static_cast<std::size_t>(length - 1)]; ++i) {
      visit(code++, length, index++);
    }
    code <<= 1;
  }
}

}  // namespace

bool is_valid(const HuffmanTable& table) noexcept {
  std::uint32_t code = 0;
  int total = 0;
  for (int length = 1; length <= kMaxCodeBits; ++length) {
    const int count = table.counts[static_cast<std::size_t>(length - 1)];
    total += count;
    code += static_cast<std::uint32_t>(count);
    if (count != 0 && code >= (1u << length)) return false;
    code <<= 1;
  }
  return total <= 256 && total == table.value_count;
}

HuffmanDecodeTable make_decode_table(const HuffmanTable& table) noexcept {
  HuffmanDecodeTable decode{};
  std::fill(std::begin(decode.max_code), std::end(decode.max_code), -1);
  std::copy(table.values.begin(), table.values.end(), std::begin(decode.values));
  for_each_code(table, [&](std::uint32_t code, int length, int index) {
    decode.max_code[length] = static_cast<std::int32_t>(code);
    decode.value_offset[length] = index - static_cast<std::int32_t>(code);
    if (length > kLookaheadBits) return;
    const int free_bits = kLookaheadBits - length;
    const auto symbol = table.values[static_cast<std::size_t>(index)];
    std::fill_n(decode.lookup + (code << free_bits), std::size_t{1} << free_bits,
                static_cast<std::uint16_t>(length << 8 | symbol));
  });
  return decode;
}

HuffmanEncodeTable make_encode_table(const HuffmanTable& table) noexcept {
  HuffmanEncodeTable encode{};
  for_each_code(table, [&](std::uint32_t code, int length, int index) {
    const auto symbol = table.values[static_cast<std::size_t>(index)];
    if (encode.length[symbol] != 0) return;
    encode.code[symbol] = static_cast<std::uint16_t>(code);
    encode.length[symbol] = static_cast<std::uint8_t>(length);
  });
  return encode;
}

}  // namespace framewire::jpeg
