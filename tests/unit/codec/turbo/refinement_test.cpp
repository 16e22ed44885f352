// Refinement by masks against T.81's figures bit by bit, on random data and random histories.
#include <gtest/gtest.h>
#include <codec/turbo/refinement.hpp>
#include <codec/turbo/symbol_reading.hpp>
#include <random>
#include <vector>

namespace framewire::codec::turbo {
namespace {

constexpr int kBlocks = 8;

/// One scan's part: a band, its place in the data, and the blocks as earlier scans left them.
struct Part {
  std::vector<CoefficientBlock> blocks = std::vector<CoefficientBlock>(kBlocks);
  std::vector<std::uint64_t> nonzero = std::vector<std::uint64_t>(kBlocks);
  std::vector<std::uint8_t> data;
  AcScan scan;
  EntropyBits bits;
  bool clean = false;

  [[nodiscard]] AcRun run() { return {blocks.data(), nonzero.data(), kBlocks}; }
};

std::uint32_t take_bit(EntropyBits& bits) {
  bits.need(1);
  return bits.take(1);
}

/// T.81 figures G.7 to G.9, one coefficient after the other.
class ByFigures {
 public:
  explicit ByFigures(Part& part) : part_(part) {}

  bool read_all() {
    for (int b = 0; b < kBlocks; ++b) {
      block_ = &part_.blocks[static_cast<std::size_t>(b)];
      nonzero_ = &part_.nonzero[static_cast<std::size_t>(b)];
      history_ = *nonzero_;
      if (!read_block()) return false;
    }
    return true;
  }

 private:
  bool read_block() {
    int k = part_.scan.first;
    while (k <= part_.scan.last && part_.scan.end_of_band_run == 0) {
      part_.bits.need(jpeg::kMaxCodeBits);
      const int symbol = jpeg::decode_symbol(part_.bits, part_.scan.table->codes);
      if (symbol < 0 || (symbol & 15) > 1) return false;
      int zeros = symbol >> 4;
      int sign = 0;
      if ((symbol & 15) == 1) {
        sign = take_bit(part_.bits) != 0 ? 1 : -1;
      } else if (zeros < 15) {
        part_.scan.end_of_band_run = 1;
        for (int i = 0; i < zeros; ++i) {
          part_.scan.end_of_band_run =
              2 * part_.scan.end_of_band_run + static_cast<std::int32_t>(take_bit(part_.bits));
        }
        break;
      }
      for (; k <= part_.scan.last; ++k) {
        if (was_nonzero(k)) {
          correct(k);
        } else if (zeros-- == 0) {
          break;
        }
      }
      if (k > part_.scan.last) return false;
      if (sign != 0) {
        at(k) = static_cast<std::int16_t>(sign * (1 << part_.scan.table->low_bit));
        *nonzero_ |= mask_bit(k);
      }
      ++k;
    }
    if (part_.scan.end_of_band_run == 0) return true;
    for (; k <= part_.scan.last; ++k) {
      if (was_nonzero(k)) correct(k);
    }
    --part_.scan.end_of_band_run;
    return true;
  }
  [[nodiscard]] bool was_nonzero(int k) const { return (history_ & mask_bit(k)) != 0; }
  std::int16_t& at(int k) { return block_->at[jpeg::kNaturalOrder[static_cast<std::size_t>(k)]]; }
  void correct(int k) {
    if (take_bit(part_.bits) == 0) return;
    const int step = 1 << part_.scan.table->low_bit;
    if ((at(k) & step) == 0) at(k) = static_cast<std::int16_t>(at(k) + (at(k) < 0 ? -step : step));
  }

  Part& part_;
  CoefficientBlock* block_ = nullptr;
  std::uint64_t* nonzero_ = nullptr;
  std::uint64_t history_ = 0;
};

/// Codes of two to seven bits for the symbols of refinement, so that random bits make sense for
/// long.
jpeg::HuffmanTable refinement_codes() {
  jpeg::HuffmanTable table;
  const std::vector<std::uint8_t> symbols = {0x01, 0x11, 0x00, 0x21, 0x31, 0x10, 0xF0,
                                             0x61, 0xE1, 0x30, 0xF1, 0x02, 0xD0};
  const std::array<std::uint8_t, 7> counts = {0, 2, 2, 1, 2, 4, 2};
  std::copy(counts.begin(), counts.end(), table.counts.begin());
  std::copy(symbols.begin(), symbols.end(), table.values.begin());
  table.value_count = static_cast<int>(symbols.size());
  return table;
}

Part make_part(std::mt19937& random, const AcTable& table) {
  Part part;
  part.scan.first = 1 + static_cast<int>(random() % 63);
  part.scan.last =
      part.scan.first + static_cast<int>(random() % static_cast<unsigned>(64 - part.scan.first));
  if (random() % 2 == 0) part.scan.first = 1, part.scan.last = 63;
  part.scan.table = &table;
  part.scan.end_of_band_run = random() % 3 == 0 ? static_cast<std::int32_t>(random() % 5) : 0;
  const auto density = 1 + random() % 9;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    for (int k = 1; k < 64; ++k) {
      if (random() % 10 >= density) continue;
      const int size = static_cast<int>(random() % 200) - 100;
      const int step = 2 << table.low_bit;
      part.nonzero[b] |= mask_bit(k);
      // Now and then a value that has the bit already, as scripts that repeat a scan leave it.
      part.blocks[b].at[jpeg::kNaturalOrder[static_cast<std::size_t>(k)]] =
          static_cast<std::int16_t>((size == 0 ? 1 : size) * step +
                                    (random() % 50 == 0 ? step / 2 : 0));
    }
  }
  part.data.resize(random() % 400);
  for (auto& byte : part.data) byte = static_cast<std::uint8_t>(random() % 255);
  return part;
}

/// What is compared of a part.
void expect_equal(const Part& found, const Part& expected) {
  ASSERT_EQ(found.clean, expected.clean);
  if (!expected.clean) return;
  EXPECT_EQ(found.scan.end_of_band_run, expected.scan.end_of_band_run);
  EXPECT_EQ(found.nonzero, expected.nonzero);
  for (std::size_t b = 0; b < kBlocks; ++b) {
    ASSERT_EQ(found.blocks[b].at, expected.blocks[b].at) << "block " << b;
  }
  EXPECT_EQ(found.bits.overrun(), expected.bits.overrun());
  EntropyBits ours = found.bits;
  EntropyBits theirs = expected.bits;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(take_bit(ours), take_bit(theirs)) << "bit " << i;
}

using Decode = bool (*)(EntropyBits&, AcScan&, const AcRun&);

void compare_with_figures(Decode decode) {
  std::mt19937 random(5);
  int clean = 0;
  for (int turn = 0; turn < 4000; ++turn) {
    SCOPED_TRACE(turn);
    const AcTable table = make_ac_table(refinement_codes(), turn % 5, true);
    Part expected = make_part(random, table);
    Part found = expected;
    for (Part* part : {&expected, &found}) {
      part->bits = EntropyBits(part->data.data(), part->data.data() + part->data.size());
    }
    expected.clean = ByFigures(expected).read_all();
    found.clean = decode(found.bits, found.scan, found.run());
    expect_equal(found, expected);
    if (testing::Test::HasFailure()) return;
    clean += expected.clean ? 1 : 0;
  }
  EXPECT_GT(clean, 400);
  EXPECT_LT(clean, 3900);
}

TEST(Refinement, PortableIsAsInTheFigures) { compare_with_figures(decode_ac_refinement_portable); }

TEST(Refinement, ChosenForThisCpuIsAsInTheFigures) { compare_with_figures(decode_ac_refinement); }

#if defined(__x86_64__)
TEST(Refinement, ByBitDepositIsAsInTheFigures) {
  if (!has_fast_deposit()) GTEST_SKIP() << "this CPU has no fast PDEP";
  compare_with_figures(decode_ac_refinement_bmi2);
}
#endif

}  // namespace
}  // namespace framewire::codec::turbo
