// The serial arithmetic of the CUDA encoder: code assignment, and the search for a quality.
#include <gtest/gtest.h>
#include <array>
#include <codec/cuda/encode/block_coder.hpp>
#include <codec/cuda/encode/optimal_codes_desc.hpp>
#include <codec/cuda/encode/size_search_state.hpp>
#include <jpeg/huffman.hpp>
#include <random>
#include <vector>

namespace framewire::codec::cuda {
namespace {

/// Depths in Huffman's tree with T.81's choice among equals: the lightest node of the highest
/// symbol first.
std::array<std::uint8_t, kHuffmanSymbols> tree_depths(
    const std::array<std::uint64_t, 256>& counts) {
  std::array<std::uint64_t, kHuffmanSymbols> weights{};
  std::copy(counts.begin(), counts.end(), weights.begin());
  weights[256] = 1;
  std::array<std::uint8_t, kHuffmanSymbols> depths{};
  std::vector<std::vector<int>> members(kHuffmanSymbols);
  for (int i = 0; i < kHuffmanSymbols; ++i) members[static_cast<std::size_t>(i)] = {i};
  const auto lightest = [&](int except) {
    int found = -1;
    for (int i = 0; i < kHuffmanSymbols; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (weights[at] != 0 && i != except &&
          (found < 0 || weights[at] <= weights[static_cast<std::size_t>(found)])) {
        found = i;
      }
    }
    return found;
  };
  for (;;) {
    const int first = lightest(-1);
    const int second = lightest(first);
    if (second < 0) return depths;
    auto& to = members[static_cast<std::size_t>(first)];
    auto& from = members[static_cast<std::size_t>(second)];
    to.insert(to.end(), from.begin(), from.end());
    for (const int symbol : to) ++depths[static_cast<std::size_t>(symbol)];
    weights[static_cast<std::size_t>(first)] += weights[static_cast<std::size_t>(second)];
    weights[static_cast<std::size_t>(second)] = 0;
  }
}

void expect_hosts_table(const std::array<std::uint64_t, 256>& counts) {
  const auto depths = tree_depths(counts);
  std::array<std::uint8_t, 288> segment{};
  std::array<std::uint32_t, 256> codes{};
  const std::uint32_t bytes = assign_codes(depths.data(), 0x11, segment.data(), codes.data());
  const jpeg::HuffmanTable table = jpeg::optimal_huffman_table(counts);
  ASSERT_EQ(bytes, 21u + static_cast<std::uint32_t>(table.value_count));
  EXPECT_EQ(segment[0] << 8 | segment[1], 0xFFC4);
  EXPECT_EQ(static_cast<std::uint32_t>(segment[2] << 8 | segment[3]), bytes - 2);
  EXPECT_EQ(segment[4], 0x11);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(segment[5 + i], table.counts[i]) << i;
  for (std::size_t i = 0; i < static_cast<std::size_t>(table.value_count); ++i) {
    EXPECT_EQ(segment[21 + i], table.values[i]) << i;
  }
  const jpeg::HuffmanEncodeTable expected = jpeg::make_encode_table(table);
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(codes[i] >> 16, expected.length[i]) << i;
    if (expected.length[i] != 0) {
      EXPECT_EQ(codes[i] & 0xFFFF, expected.code[i]) << i;
    }
  }
}

TEST(CudaOptimalCodes, AreTheHosts) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::array<std::uint64_t, 256> counts{};
    const unsigned used = 1 + random() % 256;
    for (unsigned i = 0; i < used; ++i) counts[random() % 256] = 1 + random() % (1u << round % 24);
    expect_hosts_table(counts);
  }
}

TEST(CudaOptimalCodes, LongCodesAreLimited) {
  std::array<std::uint64_t, 256> counts{};
  std::uint64_t a = 1, b = 1;
  for (std::size_t i = 0; i < 40; ++i) {  // Fibonacci's numbers make the deepest tree
    counts[i * 5] = a;
    b = std::exchange(a, a + b);
  }
  expect_hosts_table(counts);
}

TEST(CudaOptimalCodes, NoSymbolsMakeAnEmptyTable) { expect_hosts_table({}); }

/// Counts what code_block() sends through a code that names its symbols.
struct Sent {
  std::vector<std::uint32_t> symbols;
  void put(std::uint32_t /*bits*/, std::uint32_t /*count*/) {}
  void symbol(std::uint32_t table, std::uint32_t symbol) { symbols.push_back(table << 8 | symbol); }
};

TEST(CudaOptimalCodes, SymbolsOfABlock) {
  std::array<std::int16_t, 64> levels{};
  levels[0] = 9;
  levels[1] = -1;
  levels[20] = 5;
  Sent sent;
  visit_symbols(levels.data(), 1ull | 1ull << 1 | 1ull << 20, -3, sent);
  EXPECT_EQ(sent.symbols, (std::vector<std::uint32_t>{0x002, 0x101, 0x1F0, 0x123, 0x100}));
  levels[63] = 1;
  sent.symbols.clear();
  visit_symbols(levels.data(), 1ull | 1ull << 63, 0, sent);
  EXPECT_EQ(sent.symbols, (std::vector<std::uint32_t>{0x000, 0x1F0, 0x1F0, 0x1F0, 0x1E1}));
}

/// Every planned quality with every highest quality that fits, 0 for none.
TEST(CudaSizeSearch, FindsTheHighestQualityThatFitsWithinItsRounds) {
  for (std::uint32_t planned = 1; planned <= 100; ++planned) {
    for (std::uint32_t fitting = 0; fitting <= planned; ++fitting) {
      SizeSearch search;
      search.quality = planned;
      search.high = planned - 1;
      std::uint32_t encoded = planned;
      for (int round = 0; round < kSearchRounds; ++round) {
        if (search.done == 0 && advance(search, encoded <= fitting)) encoded = search.quality;
      }
      ASSERT_EQ(encoded, std::max(fitting, 1u)) << planned;
      ASSERT_EQ(search.quality, encoded);
      ASSERT_EQ(search.missed, fitting == 0 ? 1u : 0u) << planned << " " << fitting;
    }
  }
}

}  // namespace
}  // namespace framewire::codec::cuda
