#include <gtest/gtest.h>
#include <codec/reference/entropy_source.hpp>
#include <codec/reference/qm_decoder.hpp>
#include <vector>

namespace framewire::codec::reference {
namespace {

using Bytes = std::vector<std::uint8_t>;

EntropySource source_of(const Bytes& bytes) { return {bytes, 0, bytes.size()}; }

TEST(EntropySource, RemovesStuffingAndFillBytes) {
  const Bytes bytes{0x12, 0xFF, 0x00, 0xFF, 0xFF, 0xFF, 0x00, 0x34};
  EntropySource source = source_of(bytes);
  EXPECT_EQ(source.next_byte(), 0x12);
  EXPECT_EQ(source.next_byte(), 0xFF);
  EXPECT_EQ(source.next_byte(), 0xFF);
  EXPECT_EQ(source.next_byte(), 0x34);
  EXPECT_FALSE(source.at_marker());
  EXPECT_EQ(source.next_byte(), 0);
  EXPECT_TRUE(source.at_marker());
}

TEST(EntropySource, ReadsZerosBeyondTheEndAndSaysSoOnlyWhenTheyAreUsed) {
  const Bytes bytes{0xA5, 0xFF, 0xD9};
  EntropySource source = source_of(bytes);
  EXPECT_EQ(source.next_bits(8), 0xA5);
  EXPECT_FALSE(source.is_exhausted());
  EXPECT_EQ(source.next_bits(0), 0);
  EXPECT_FALSE(source.is_exhausted());
  EXPECT_EQ(source.next_bits(16), 0);
  EXPECT_TRUE(source.is_exhausted());
}

TEST(EntropySource, TakesTheExpectedRestartAndDropsPadding) {
  const Bytes bytes{0xA5, 0xFF, 0xD3, 0x5A};
  EntropySource source = source_of(bytes);
  EXPECT_EQ(source.next_bits(3), 0b101);
  source.restart(3);
  EXPECT_FALSE(source.was_resynchronised());
  EXPECT_EQ(source.next_bits(8), 0x5A);
}

/// What comes after a restart that should be RST3 where the data has `marker` before 0x77.
struct Found {
  bool data;
  bool resynchronised;
};
Found restart_at(std::uint8_t marker) {
  const Bytes bytes{0xA5, 0xFF, marker, 0x77, 0xFF, 0xD3, 0x66};
  EntropySource source = source_of(bytes);
  source.next_bits(8);
  source.restart(3);
  const std::int32_t value = source.next_bits(8);
  EXPECT_TRUE(value == 0x77 || value == 0x66 || source.is_exhausted());
  return {value == 0x77, source.was_resynchronised()};
}

TEST(EntropySource, ResynchronisesAsLibjpegDoes) {
  EXPECT_TRUE(restart_at(0xD3).data);
  EXPECT_FALSE(restart_at(0xD3).resynchronised);
  EXPECT_FALSE(restart_at(0xD4).data);  // ahead by one: left for its turn
  EXPECT_FALSE(restart_at(0xD5).data);
  EXPECT_TRUE(restart_at(0xD6).data);  // too far to tell
  EXPECT_TRUE(restart_at(0xD0).data);
  EXPECT_FALSE(restart_at(0xD1).data);  // behind: passed over
  EXPECT_FALSE(restart_at(0xD2).data);
  EXPECT_FALSE(restart_at(0xC4).data);  // not a restart marker
  EXPECT_TRUE(restart_at(0xD6).resynchronised);
}

TEST(EntropySource, PassesOverAnOldRestartToTheExpectedOne) {
  const Bytes bytes{0xA5, 0xFF, 0xD2, 0x77, 0xFF, 0xD3, 0x66};
  EntropySource source = source_of(bytes);
  source.next_bits(8);
  source.restart(3);
  EXPECT_EQ(source.next_bits(8), 0x66);
}

TEST(EntropySource, AMarkerLeftBehindEndsTheSegmentUntilItsTurn) {
  const Bytes bytes{0xA5, 0xFF, 0xD4, 0x77};
  EntropySource source = source_of(bytes);
  source.next_bits(8);
  source.restart(3);
  EXPECT_EQ(source.next_bits(8), 0);
  EXPECT_TRUE(source.is_exhausted());
  source.restart(4);
  EXPECT_FALSE(source.is_exhausted());
  EXPECT_EQ(source.next_bits(8), 0x77);
}

TEST(EntropySource, LeftoverIsDataAndNotMarkers) {
  const Bytes bytes{0xA5, 0xFF, 0xD0, 0xFF, 0xD1};
  EntropySource source = source_of(bytes);
  EXPECT_TRUE(source.has_leftover());
  source.next_bits(4);
  EXPECT_FALSE(source.has_leftover());
}

TEST(QmDecoder, DecodesTheTestSequenceOfT81K4) {
  const Bytes coded{0x65, 0x5B, 0x51, 0x44, 0xF7, 0x96, 0x9D, 0x51, 0x78, 0x55, 0xBF,
                    0xFF, 0x00, 0xFC, 0x51, 0x84, 0xC7, 0xCE, 0xF9, 0x39, 0x00, 0x28,
                    0x7D, 0x46, 0x70, 0x8E, 0xCB, 0xC0, 0xF6, 0xFF, 0xD9, 0x00};
  const std::uint32_t plain[8] = {0x00020051, 0x000000C0, 0x0352872A, 0xAAAAAAAA,
                                  0x82C02000, 0xFCD79EF6, 0x74EAABF7, 0x697EE74C};
  EntropySource source = source_of(coded);
  QmDecoder decoder(source);
  decoder.start();
  QmBin bin;
  for (const std::uint32_t word : plain) {
    std::uint32_t decoded = 0;
    for (int i = 0; i < 32; ++i) {
      decoded = decoded << 1 | static_cast<std::uint32_t>(decoder.decode(bin));
    }
    EXPECT_EQ(decoded, word);
  }
}

}  // namespace
}  // namespace framewire::codec::reference
