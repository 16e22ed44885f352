// What fuzzers of sequences read their commands from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Takes arguments off the input; 0 once it has ended.
struct Input {
  std::span<const std::byte> left;
  std::uint64_t take() {
    if (left.empty()) return 0;
    const auto byte = std::to_integer<std::uint64_t>(left.front());
    left = left.subspan(1);
    return byte;
  }
};
