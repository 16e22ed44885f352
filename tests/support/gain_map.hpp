// Streams with a gain map behind them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <jpeg/head.hpp>
#include <span>
#include <vector>

namespace framewire::test {

/// Completes a primary stream as writers do: its index into its head, the gain map behind it.
/// @return as jpeg::make_gain_map_tail()
[[nodiscard]] inline Result<void> append_gain_map(std::vector<std::uint8_t>& stream,
                                                  std::span<const std::uint8_t> gain_map) {
  const auto tail = jpeg::make_gain_map_tail(stream, gain_map);
  if (!tail) return fail(tail.error());
  std::copy(tail->index.begin(), tail->index.end(),
            stream.begin() + static_cast<std::ptrdiff_t>(tail->index_offset));
  stream.insert(stream.end(), gain_map.begin(), gain_map.end());
  return {};
}

}  // namespace framewire::test
