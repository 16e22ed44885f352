// Huffman's procedure with lengths limited to 16 bits (T.81 K.2, figures K.1 to K.4).
#include <algorithm>
#include <array>
#include <jpeg/huffman.hpp>

namespace framewire::jpeg {
namespace {

constexpr int kSymbols = 257;  // 256 symbols and one that takes, and so reserves, the all-ones code
constexpr int kReserved = 256;
// Fibonacci-like histograms make the longest codes; a total below 2^62 keeps them under 90 bits.
constexpr int kMaxTreeDepth = 128;

/// The lightest node other than `except`; of equals the highest symbol, so that the reserved one
/// goes deepest. −1 if there is none. Weight 0 means no node.
int lightest(const std::array<std::uint64_t, kSymbols>& weights, int except) {
  int found = -1;
  for (int i = 0; i < kSymbols; ++i) {
    const auto weight = weights[static_cast<std::size_t>(i)];
    if (weight == 0 || i == except) continue;
    if (found < 0 || weight <= weights[static_cast<std::size_t>(found)]) found = i;
  }
  return found;
}

/// Depth of each used symbol in Huffman's tree; 0 for unused ones. A node is named by its first
/// symbol, and chains the symbols below it.
std::array<int, kSymbols> tree_depths(std::span<const std::uint64_t, 256> histogram) {
  std::array<std::uint64_t, kSymbols> weights{};
  std::copy(histogram.begin(), histogram.end(), weights.begin());
  weights[kReserved] = 1;
  std::array<int, kSymbols> depths{};
  std::array<int, kSymbols> next{};
  next.fill(-1);
  while (true) {
    const int first = lightest(weights, -1);
    const int second = lightest(weights, first);
    if (second < 0) return depths;
    weights[static_cast<std::size_t>(first)] += weights[static_cast<std::size_t>(second)];
    weights[static_cast<std::size_t>(second)] = 0;
    int last = first;
    while (next[static_cast<std::size_t>(last)] >= 0) last = next[static_cast<std::size_t>(last)];
    next[static_cast<std::size_t>(last)] = second;
    for (int symbol = first; symbol >= 0; symbol = next[static_cast<std::size_t>(symbol)]) {
      ++depths[static_cast<std::size_t>(symbol)];
    }
  }
}

/// Shortens codes above 16 bits (figure K.3): a pair of the longest moves up by one bit, to the
/// place of one of them, while the other joins a shorter code, which grows by one bit.
void limit_lengths(std::array<int, kMaxTreeDepth + 1>& counts) {
  for (std::size_t length = kMaxTreeDepth; length > kMaxCodeBits; --length) {
    while (counts[length] > 0) {
      std::size_t shorter = length - 2;
      while (counts[shorter] == 0) --shorter;
      counts[length] -= 2;
      counts[length - 1] += 1;
      counts[shorter + 1] += 2;
      counts[shorter] -= 1;
    }
  }
}

}  // namespace

HuffmanTable optimal_huffman_table(std::span<const std::uint64_t, 256> histogram) {
  const auto depths = tree_depths(histogram);
  std::array<int, kMaxTreeDepth + 1> counts{};
  for (const int depth : depths) ++counts[static_cast<std::size_t>(depth)];
  counts[0] = 0;
  limit_lengths(counts);
  std::size_t longest = kMaxCodeBits;
  while (longest > 0 && counts[longest] == 0) --longest;
  if (longest > 0) --counts[longest];  // the reserved symbol's code

  HuffmanTable table;
  for (std::size_t length = 1; length <= kMaxCodeBits; ++length) {
    table.counts[length - 1] = static_cast<std::uint8_t>(counts[length]);
  }
  std::array<int, 256> order{};
  int used = 0;
  for (int symbol = 0; symbol < 256; ++symbol) {
    if (depths[static_cast<std::size_t>(symbol)] > 0) {
      order[static_cast<std::size_t>(used++)] = symbol;
    }
  }
  // By tree depth, which limiting leaves in the same order (figure K.4).
  std::stable_sort(order.begin(), order.begin() + used, [&](int a, int b) {
    return depths[static_cast<std::size_t>(a)] < depths[static_cast<std::size_t>(b)];
  });
  std::transform(order.begin(), order.begin() + used, table.values.begin(),
                 [](int symbol) { return static_cast<std::uint8_t>(symbol); });
  table.value_count = used;
  return table;
}

}  // namespace framewire::jpeg
