// The Huffman codes of one block of levels, for counting and for writing.
//
// Source: T.81 F.1.2.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

FW_HD inline std::uint32_t bit_length(std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(32 - __clz(static_cast<int>(value)));
#else
  return value == 0 ? 0 : static_cast<std::uint32_t>(32 - __builtin_clz(value));
#endif
}
FW_HD inline std::uint32_t lowest_set(std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__ffsll(static_cast<long long>(value)) - 1);
#else
  return static_cast<std::uint32_t>(__builtin_ctzll(value));
#endif
}

/// Sends a symbol's code and its additional bits. @param code  length << 16 | code
template <typename Sink>
FW_HD inline void send(const std::uint32_t* codes, std::uint32_t run, std::int32_t value,
                       Sink& sink) {
  const std::uint32_t size = bit_length(static_cast<std::uint32_t>(value < 0 ? -value : value));
  const std::uint32_t code = codes[run << 4 | size];
  const std::uint32_t extra =
      static_cast<std::uint32_t>(value < 0 ? value - 1 : value) & ((1u << size) - 1);
  sink.put((code & 0xFFFF) << size | extra, (code >> 16) + size);
}

/// @param levels  [64] zig-zag order; @param mask  which of them are not zero
/// @param dc_difference  to the component's previous block
/// @param codes  [2][256] DC, AC codes; @param sink  put(bits, count), count up to 27
template <typename Sink>
FW_HD inline void code_block(const std::int16_t* levels, std::uint64_t mask,
                             std::int32_t dc_difference, const std::uint32_t* codes, Sink& sink) {
  send(codes, 0, dc_difference, sink);
  const std::uint32_t* ac = codes + 256;
  std::uint32_t last = 0;
  for (mask &= ~1ull; mask != 0; mask &= mask - 1) {
    const std::uint32_t index = lowest_set(mask);
    std::uint32_t run = index - last - 1;
    for (; run > 15; run -= 16) sink.put(ac[0xF0] & 0xFFFF, ac[0xF0] >> 16);
    send(ac, run, levels[index], sink);
    last = index;
  }
  if (last != 63) sink.put(ac[0] & 0xFFFF, ac[0] >> 16);
}

/// Calls `visitor` for each symbol that code_block() would send.
/// @param visitor  symbol(table, symbol), table 0 for DC, 1 for AC
template <typename Visitor>
FW_HD inline void visit_symbols(const std::int16_t* levels, std::uint64_t mask,
                                std::int32_t dc_difference, Visitor& visitor) {
  const auto size = [](std::int32_t value) {
    return bit_length(static_cast<std::uint32_t>(value < 0 ? -value : value));
  };
  visitor.symbol(0, size(dc_difference));
  std::uint32_t last = 0;
  for (mask &= ~1ull; mask != 0; mask &= mask - 1) {
    const std::uint32_t index = lowest_set(mask);
    std::uint32_t run = index - last - 1;
    for (; run > 15; run -= 16) visitor.symbol(1, 0xF0);
    visitor.symbol(1, run << 4 | size(levels[index]));
    last = index;
  }
  if (last != 63) visitor.symbol(1, 0);
}

}  // namespace framewire::codec::cuda
