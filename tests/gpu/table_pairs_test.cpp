// Pairs of Huffman tables of a batch: each once, whatever came before.
#include <gtest/gtest.h>
#include <codec/cuda/decode/canonical_code.hpp>
#include <codec/cuda/decode/table_pairs.hpp>
#include <cstring>
#include <map>
#include <random>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::CanonicalCode;
using codec::cuda::TablePairs;

/// Some table, another for each number.
jpeg::HuffmanTable table_of(int number) {
  jpeg::HuffmanTable table;
  table.counts[3] = static_cast<std::uint8_t>(1 + number % 7);
  table.value_count = 1 + number % 7;
  for (int i = 0; i < table.value_count; ++i) {
    table.values[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(number + i);
  }
  return table;
}

bool same(const CanonicalCode& a, const CanonicalCode& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

TEST(TablePairs, HaveOneIndexEachInABatch) {
  TablePairs pairs;
  std::mt19937 random(1);
  for (int batch = 0; batch < 40; ++batch) {
    pairs.clear();
    gpu::UploadList<CanonicalCode> codes;
    std::map<std::pair<int, int>, std::uint32_t> seen;
    // Few that come again and again, then many.
    const int most = batch % 2 == 0 ? 3 : 20;
    for (int i = 0; i < 200; ++i) {
      const std::pair<int, int> numbers(static_cast<int>(random() % most),
                                        static_cast<int>(random() % 2));
      const jpeg::HuffmanTable dc = table_of(numbers.first);
      const jpeg::HuffmanTable ac = table_of(100 + numbers.second);
      const std::uint32_t index = pairs.index_of(dc, ac, codes);
      const auto [at, added] = seen.emplace(numbers, index);
      ASSERT_EQ(at->second, index);
      ASSERT_EQ(codes.size(), 2 * seen.size());
      if (added) {
        ASSERT_EQ(index, seen.size() - 1);
      }
      ASSERT_TRUE(same(codes[2 * index], codec::cuda::make_canonical(dc)));
      ASSERT_TRUE(same(codes[2 * index + 1], codec::cuda::make_canonical(ac)));
    }
  }
}

TEST(TablePairs, AreToldApartByTheirLastValue) {
  TablePairs pairs;
  gpu::UploadList<CanonicalCode> codes;
  const jpeg::HuffmanTable dc = table_of(0);
  jpeg::HuffmanTable ac = table_of(6);
  EXPECT_EQ(pairs.index_of(dc, ac, codes), 0u);
  ac.values[static_cast<std::size_t>(ac.value_count - 1)] ^= 1;
  EXPECT_EQ(pairs.index_of(dc, ac, codes), 1u);
  ac.values[static_cast<std::size_t>(ac.value_count)] ^= 1;  // of no code
  EXPECT_EQ(pairs.index_of(dc, ac, codes), 1u);
}

}  // namespace
}  // namespace framewire::gpu_tests
