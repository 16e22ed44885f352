#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <functional>
#include <jpeg/bit_reader.hpp>
#include <jpeg/bit_writer.hpp>
#include <queue>
#include <random>
#include <tests/support/tiny_jpeg.hpp>
// Needs size_t and FILE from the above.
#include <jpeglib.h>

namespace framewire::jpeg {
namespace {

using Histogram = std::array<std::uint64_t, 256>;

/// libjpeg's compressor with its defaults, as the independent source of standard tables.
class LibjpegTables : public testing::Test {
 protected:
  LibjpegTables() {
    info_.err = jpeg_std_error(&errors_);
    jpeg_create_compress(&info_);
    info_.input_components = 3;
    info_.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info_);
  }
  ~LibjpegTables() override { jpeg_destroy_compress(&info_); }
  jpeg_compress_struct info_;
  jpeg_error_mgr errors_;
};

TEST_F(LibjpegTables, StandardHuffmanTablesAreTheSame) {
  for (const int slot : {0, 1}) {
    for (const auto table_class : {TableClass::kDc, TableClass::kAc}) {
      const HuffmanTable& ours = standard_huffman_table(table_class, slot);
      const JHUFF_TBL* theirs = table_class == TableClass::kDc ? info_.dc_huff_tbl_ptrs[slot]
                                                               : info_.ac_huff_tbl_ptrs[slot];
      EXPECT_TRUE(is_valid(ours));
      for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(ours.counts[i], theirs->bits[i + 1]);
      for (int i = 0; i < ours.value_count; ++i) {
        EXPECT_EQ(ours.values[static_cast<std::size_t>(i)], theirs->huffval[i]);
      }
    }
  }
}

TEST_F(LibjpegTables, QualityTablesAreTheSame) {
  for (int quality = -3; quality <= 105; ++quality) {
    jpeg_set_quality(&info_, quality, TRUE);
    const auto tables = quality_tables(quality);
    for (std::size_t i = 0; i < kBlockSize; ++i) {
      ASSERT_EQ(tables.luminance.values[i], info_.quant_tbl_ptrs[0]->quantval[i]) << quality;
      ASSERT_EQ(tables.chrominance.values[i], info_.quant_tbl_ptrs[1]->quantval[i]) << quality;
    }
  }
}

/// Writes symbols with a table and reads them back.
void expect_round_trip(const HuffmanTable& table, std::span<const std::uint8_t> symbols) {
  const auto encode = make_encode_table(table);
  const auto decode = make_decode_table(table);
  Bytes bytes;
  BitWriter writer(bytes);
  for (const auto symbol : symbols) {
    ASSERT_NE(encode.length[symbol], 0);
    writer.put_symbol(encode, symbol);
  }
  writer.flush();
  BitReader<StuffedBytes> reader(StuffedBytes(bytes.data(), bytes.data() + bytes.size()));
  for (const auto symbol : symbols) ASSERT_EQ(decode_symbol(reader, decode), symbol);
  EXPECT_FALSE(reader.overrun());
}

TEST(JpegHuffman, StandardTablesRoundTrip) {
  for (const int slot : {0, 1}) {
    for (const auto table_class : {TableClass::kDc, TableClass::kAc}) {
      const HuffmanTable& table = standard_huffman_table(table_class, slot);
      const auto count = static_cast<std::size_t>(table.value_count);
      expect_round_trip(table, std::span(table.values).first(count));
    }
  }
}

TEST(JpegHuffman, ValidityIsThatOfPrefixCodes) {
  HuffmanTable table;
  EXPECT_TRUE(is_valid(table)) << "an empty table";
  table.counts[0] = 1;
  table.value_count = 1;
  EXPECT_TRUE(is_valid(table));
  table.counts[0] = 2;
  table.value_count = 2;
  EXPECT_FALSE(is_valid(table)) << "uses the code of all ones";
  table.counts[0] = 1;
  table.counts[15] = 1;
  EXPECT_TRUE(is_valid(table));
  table.value_count = 3;
  EXPECT_FALSE(is_valid(table)) << "more values than codes";
}

TEST(JpegHuffman, BitsThatAreNoCodeSaySo) {
  const auto decode = make_decode_table(standard_huffman_table(TableClass::kDc, 0));
  const Bytes ones = {0xFE, 0xFF, 0x00, 0xFF, 0x00, 0xFF, 0x00};
  BitReader<StuffedBytes> reader(StuffedBytes(ones.data(), ones.data() + ones.size()));
  reader.drop(8);
  EXPECT_EQ(decode_symbol(reader, decode), kBadCode);
  EXPECT_EQ(reader.consumed_bits(), 8u + 17u);
}

/// Total bits of a histogram under a table; fails where a used symbol has no code.
std::uint64_t cost(const HuffmanTable& table, const Histogram& histogram) {
  const auto encode = make_encode_table(table);
  std::uint64_t bits = 0;
  for (std::size_t symbol = 0; symbol < 256; ++symbol) {
    EXPECT_EQ(histogram[symbol] != 0, encode.length[symbol] != 0) << symbol;
    bits += histogram[symbol] * encode.length[symbol];
  }
  return bits;
}

/// What Huffman's tree costs with no limit of length, the reserved symbol's share included.
std::uint64_t unlimited_cost(const Histogram& histogram) {
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> nodes;
  for (const auto weight : histogram) {
    if (weight != 0) nodes.push(weight);
  }
  nodes.push(1);
  std::uint64_t total = 0;
  while (nodes.size() > 1) {
    std::uint64_t sum = nodes.top();
    nodes.pop();
    sum += nodes.top();
    nodes.pop();
    total += sum;
    nodes.push(sum);
  }
  return total;
}

TEST(JpegHuffman, OptimalTablesAreOptimalWhereSixteenBitsSuffice) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Histogram histogram{};
    const int used = 1 + static_cast<int>(random() % 200);
    for (int i = 0; i < used; ++i) histogram[random() % 256] = 1 + random() % 1000;
    const HuffmanTable table = optimal_huffman_table(histogram);
    ASSERT_TRUE(is_valid(table));
    const std::uint64_t bits = cost(table, histogram);
    // The reserved symbol pays one weight times its depth, at most 16, in the unlimited tree.
    EXPECT_LE(bits, unlimited_cost(histogram));
    EXPECT_GE(bits + 17, unlimited_cost(histogram));
  }
}

TEST(JpegHuffman, OptimalTablesKeepToSixteenBits) {
  Histogram fibonacci{};
  std::uint64_t a = 1;
  std::uint64_t b = 1;
  std::vector<std::uint8_t> symbols;
  for (std::size_t symbol = 0; symbol < 80; ++symbol) {
    fibonacci[symbol] = a;
    a = std::exchange(b, a + b);
    symbols.push_back(static_cast<std::uint8_t>(symbol));
  }
  const HuffmanTable table = optimal_huffman_table(fibonacci);
  ASSERT_TRUE(is_valid(table));
  EXPECT_EQ(table.value_count, 80);
  EXPECT_GT(table.counts[15], 0);
  expect_round_trip(table, symbols);
  const auto encode = make_encode_table(table);
  EXPECT_GE(encode.length[0], encode.length[79]);
}

TEST(JpegHuffman, OptimalTablesOfExtremeHistograms) {
  EXPECT_EQ(optimal_huffman_table(Histogram{}).value_count, 0);
  Histogram one{};
  one[42] = 5;
  const HuffmanTable single = optimal_huffman_table(one);
  ASSERT_TRUE(is_valid(single));
  EXPECT_EQ(make_encode_table(single).length[42], 1);
  Histogram all;
  all.fill(1);
  const HuffmanTable full = optimal_huffman_table(all);
  ASSERT_TRUE(is_valid(full));
  EXPECT_EQ(full.value_count, 256);
}

TEST(JpegHuffman, ExtendUndoesAdditionalBits) {
  for (std::int32_t value = -40000; value <= 40000; ++value) {
    const int size = category(value);
    ASSERT_EQ(extend(additional_bits(value, size), size), value);
  }
  EXPECT_EQ(category(0), 0);
  EXPECT_EQ(category(-1), 1);
  EXPECT_EQ(category(255), 8);
  EXPECT_EQ(category(-256), 9);
}

TEST(JpegBits, WhatIsWrittenIsReadBack) {
  std::mt19937 random(11);
  std::vector<std::pair<std::uint32_t, int>> fields;
  Bytes bytes;
  BitWriter writer(bytes);
  std::uint64_t total = 0;
  for (int i = 0; i < 5000; ++i) {
    const int count = 1 + static_cast<int>(random() % 32);
    // Many ones, so that stuffing happens.
    const std::uint32_t bits =
        random() % 3 == 0 ? 0xFFFFFFFFu : static_cast<std::uint32_t>(random());
    fields.emplace_back(count == 32 ? bits : bits & ((1u << count) - 1), count);
    writer.put(bits, count);
    total += static_cast<std::uint64_t>(count);
  }
  writer.flush();
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    if (bytes[i] == 0xFF) {
      ASSERT_EQ(bytes[i + 1], 0);
    }
  }
  BitReader<StuffedBytes> reader(StuffedBytes(bytes.data(), bytes.data() + bytes.size()));
  for (const auto& [bits, count] : fields) ASSERT_EQ(reader.get(count), bits);
  EXPECT_EQ(reader.consumed_bits(), total);
  EXPECT_FALSE(reader.overrun());
  reader.get(8);
  EXPECT_TRUE(reader.overrun());
}

TEST(JpegBits, AMarkerEndsTheDataAndZerosFollow) {
  const Bytes bytes = {0xAB, 0xFF, 0xFF, 0x00, 0xFF, 0xD0, 0x77};
  BitReader<StuffedBytes> reader(StuffedBytes(bytes.data(), bytes.data() + bytes.size()));
  EXPECT_EQ(reader.get(16), 0xABFFu);
  EXPECT_FALSE(reader.overrun());
  EXPECT_EQ(reader.get(32), 0u);
  EXPECT_TRUE(reader.overrun());
  EXPECT_EQ(reader.source().position() - bytes.data(), 4);
}

TEST(JpegBits, PlainBytesAreTakenAsTheyAre) {
  const Bytes bytes = {0x12, 0xFF, 0x34, 0x56, 0x78};
  BitReader<PlainBytes> reader(PlainBytes(bytes.data(), bytes.data() + bytes.size()));
  EXPECT_EQ(reader.get(4), 0x1u);
  EXPECT_EQ(reader.get(32), 0x2FF34567u);
  EXPECT_EQ(reader.get(4), 0x8u);
  EXPECT_FALSE(reader.overrun());
  EXPECT_EQ(reader.get(1), 0u);
  EXPECT_TRUE(reader.overrun());
}

TEST(JpegBits, RestartsFlushAndCount) {
  Bytes bytes;
  BitWriter writer(bytes);
  writer.put(0, 3);
  writer.put_restart(9);
  writer.put(0, 8);
  EXPECT_EQ(bytes, (Bytes{0x1F, 0xFF, 0xD1, 0x00}));
}

}  // namespace
}  // namespace framewire::jpeg
