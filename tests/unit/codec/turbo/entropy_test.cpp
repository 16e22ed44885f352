// The parts of the CPU codec's own entropy decoder, progressive scripts of every kind, and real
// files, decoded by it and by libjpeg.
#include <gtest/gtest.h>
// clang-format off
#include <cstddef>
#include <cstdio>  // jpeglib.h needs size_t and FILE
#include <jpeglib.h>
// clang-format on
#include <codec/turbo/entropy_source.hpp>
#include <codec/turbo/symbol_tables.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <jpeg/bit_reader.hpp>
#include <jpeg/parser.hpp>
#include <random>
#include <tests/support/libjpegs_warnings.hpp>

namespace framewire::codec::turbo {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(EntropyBits, GiveEveryBitAndThenZeros) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 40; ++size) {
    Bytes plain(size);
    Bytes stuffed;
    for (auto& byte : plain) {
      byte = random() % 4 == 0 ? 0xFF : static_cast<std::uint8_t>(random());
      stuffed.push_back(byte);
      if (byte == 0xFF) stuffed.push_back(0);
    }
    stuffed.insert(stuffed.end(), {0xFF, 0xD9, 1, 2, 3, 4, 5, 6, 7, 8});
    EntropyBits bits(stuffed.data(), stuffed.data() + stuffed.size());
    for (std::size_t at = 0; at < 8 * size + 200;) {
      const int count = 1 + static_cast<int>(random() % 31);
      bits.need(count);
      const std::uint32_t found = bits.take(count);
      std::uint32_t expected = 0;
      for (int i = 0; i < count; ++i, ++at) {
        const unsigned bit = at < 8 * size ? plain[at / 8] >> (7 - at % 8) & 1u : 0u;
        expected = expected << 1 | bit;
      }
      ASSERT_EQ(found, expected) << "size " << size << ", bit " << at;
      ASSERT_EQ(bits.overrun(), at > 8 * size);
    }
  }
}

TEST(EntropyBits, KnowWhetherTheLastByteBeforeTheMarkerIsReached) {
  const Bytes bytes = {0x12, 0xFF, 0x00, 0x56, 0xFF, 0xD1, 0, 0, 0, 0};
  for (int used = 1; used <= 26; ++used) {
    EntropyBits bits(bytes.data(), bytes.data() + bytes.size());
    for (int i = 0; i < used; ++i) {
      bits.need(1);
      bits.drop(1);
    }
    const bool in_last_byte = used > 16 && used <= 24;
    EXPECT_EQ(bits.end_of_data(), in_last_byte ? bytes.data() + 4 : nullptr) << used;
  }
}

/// The index's bits, and zeros behind them.
class IndexBits {
 public:
  explicit IndexBits(std::uint32_t index)
      : bytes_{static_cast<std::uint8_t>(index >> 2),
               static_cast<std::uint8_t>(index << 6),
               0,
               0,
               0,
               0},
        reader_(jpeg::PlainBytes(bytes_.data(), bytes_.data() + bytes_.size())) {}
  IndexBits(const IndexBits&) = delete;
  IndexBits& operator=(const IndexBits&) = delete;

  struct Symbol {
    int symbol;
    int value;
    int end;  ///< bits consumed so far
  };
  Symbol next(const jpeg::HuffmanDecodeTable& codes) {
    const int symbol = jpeg::decode_symbol(reader_, codes);
    const int value = symbol < 0 ? 0 : jpeg::extend(reader_.get(symbol & 15), symbol & 15);
    return {symbol, value, static_cast<int>(reader_.consumed_bits())};
  }

 private:
  Bytes bytes_;
  jpeg::BitReader<jpeg::PlainBytes> reader_;
};

constexpr int kEndOfBlock = 0;
constexpr int kSixteenZeros = 0xF0;

/// Expects of `pair` what comes behind a first symbol that ends at bit `length` of `index`, with
/// the coefficient `value` `advance` places on. @return whether there is a second coefficient
bool expect_second(PairEntry pair, IndexBits& bits, const AcTable& table, int length, int value,
                   int advance) {
  EXPECT_EQ(pair.first(), value);
  EXPECT_EQ(pair.first_advance(), static_cast<std::size_t>(advance));
  const auto second = bits.next(table.codes);
  const bool fits = second.symbol >= 0 && second.end <= kLookupBits;
  const bool ends = fits && second.symbol == kEndOfBlock;
  const bool is_pair = fits && second.value != 0;
  EXPECT_EQ(pair.length(), is_pair || ends ? second.end : length);
  EXPECT_EQ(pair.second(), is_pair ? second.value : value);
  EXPECT_EQ(pair.advance(),
            static_cast<std::size_t>(advance + (is_pair ? (second.symbol >> 4) + 1 : 0)));
  EXPECT_EQ(pair.goes_on(), ends ? 0 : -1);
  return is_pair;
}

void expect_unknown(PairEntry pair) { EXPECT_GE(pair.advance(), 63u); }

/// What one look-up says must be what reading symbol by symbol says.
TEST(SymbolTables, PairsAreWhatOneSymbolAfterTheOtherWouldBe) {
  for (const int slot : {0, 1}) {
    const AcTable table =
        make_ac_table(jpeg::standard_huffman_table(jpeg::TableClass::kAc, slot), 0, false);
    const PairTable pairs = make_pair_table(table);
    int two = 0, none = 0;
    for (std::uint32_t index = 0; index < pairs.size(); ++index) {
      SCOPED_TRACE(index);
      const PairEntry pair = pairs[index];
      IndexBits bits(index);
      const auto first = bits.next(table.codes);
      if (first.symbol == kEndOfBlock || first.symbol == kSixteenZeros) {
        if (first.end > kLookupBits) {
          expect_unknown(pair);
          continue;
        }
        ++none;
        EXPECT_EQ(pair.length(), first.end);
        EXPECT_EQ(pair.first(), 0);
        EXPECT_EQ(pair.second(), 0);
        EXPECT_EQ(pair.advance(), first.symbol == kEndOfBlock ? 1u : 16u);
        EXPECT_LE(pair.first_advance(), pair.advance());
        EXPECT_EQ(pair.goes_on(), first.symbol == kEndOfBlock ? 0 : -1);
      } else if (first.symbol > 0 && first.end <= kLookupBits) {
        two += expect_second(pair, bits, table, first.end, first.value, (first.symbol >> 4) + 1);
      } else {
        expect_unknown(pair);
      }
    }
    EXPECT_GT(two, 100);
    EXPECT_GT(none, 10);
  }
}

TEST(SymbolTables, DcDifferencesBringTheSymbolBehindThem) {
  for (const int slot : {0, 1}) {
    const DcTable dc = make_dc_table(jpeg::standard_huffman_table(jpeg::TableClass::kDc, slot));
    const AcTable ac =
        make_ac_table(jpeg::standard_huffman_table(jpeg::TableClass::kAc, slot), 0, false);
    const PairTable pairs = make_pair_table(dc, ac);
    int two = 0;
    for (std::uint32_t index = 0; index < pairs.size(); ++index) {
      SCOPED_TRACE(index);
      IndexBits bits(index);
      const auto first = bits.next(dc.codes);
      if (first.symbol >= 0 && first.end <= kLookupBits) {
        two += expect_second(pairs[index], bits, ac, first.end, first.value, 0);
      } else {
        expect_unknown(pairs[index]);
      }
    }
    EXPECT_GT(two, 100);
  }
}

TEST(SymbolTables, RefuseSizesThatShiftedValuesHaveNoRoomFor) {
  const auto& standard = jpeg::standard_huffman_table(jpeg::TableClass::kAc, 0);
  EXPECT_EQ(make_ac_table(standard, 13, false).max_size, 2);
  const AcTable refinement = make_ac_table(standard, 0, true);
  for (const SymbolEntry entry : refinement.lookup) EXPECT_LE(std::abs(entry.value()), 1);
}

using Script = std::vector<jpeg_scan_info>;

struct ScriptCase {
  const char* name;
  int components;
  unsigned restart_interval_mcus;
  Script script;
};

/// A noisy picture, so that coefficients of every frequency and size occur.
Bytes write_progressive(const ScriptCase& c, int width, int height) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = c.components;
  info.in_color_space = c.components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 92, TRUE);
  info.restart_interval = c.restart_interval_mcus;
  info.scan_info = c.script.data();
  info.num_scans = static_cast<int>(c.script.size());
  jpeg_start_compress(&info, TRUE);
  std::mt19937 random(3);
  Bytes row(static_cast<std::size_t>(width * c.components));
  for (int y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < row.size(); ++x) {
      const auto range = static_cast<unsigned>(1 + (static_cast<int>(x) / 24 + y / 16) % 4 * 50);
      row[x] = static_cast<std::uint8_t>(static_cast<unsigned>(y) % 64 + random() % range);
    }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes out(buffer, buffer + size);
  std::free(buffer);
  return out;
}

/// Decodes by both, and compares everything. @return whether our own could take the file
bool expect_equal(const jpeg::JpegFile& file, const plan::Scales& scales) {
  std::array<CodecOutcome, 2> outcome;
  const auto own =
      make_turbo_codec_with(EntropyDecoder::kOwn)->decode(file, scales, {}, outcome[0]);
  const auto libjpeg =
      make_turbo_codec_with(EntropyDecoder::kLibjpeg)->decode(file, scales, {}, outcome[1]);
  EXPECT_EQ(own.has_value(), libjpeg.has_value());
  framewire::test::expect_libjpegs_warnings(outcome[0].warnings, outcome[1].warnings);
  if (!own || !libjpeg) {
    if (!own && !libjpeg) {
      EXPECT_EQ(own.error().to_string(), libjpeg.error().to_string());
    }
    return false;
  }
  for (std::size_t i = 0; i < own->planes.size(); ++i) {
    EXPECT_TRUE(own->planes[i].samples == libjpeg->planes[i].samples) << "plane " << i;
  }
  return OwnEntropySource::accepts(file);
}

class TurboScripts : public testing::TestWithParam<ScriptCase> {};

TEST_P(TurboScripts, GiveLibjpegsPlanes) {
  for (const auto& [width, height] : {std::pair(75, 61), {16, 16}, {9, 130}}) {
    const Bytes bytes = write_progressive(GetParam(), width, height);
    const auto file = jpeg::parse(bytes, Limits{});
    ASSERT_TRUE(file);
    for (const int scale : {8, 6, 5, 4, 2, 1}) {
      EXPECT_TRUE(expect_equal(*file, {scale, scale, scale, scale})) << scale;
    }
  }
}

const ScriptCase kScripts[] = {
    {"spectral_selection_only",
     1,
     0,
     {{1, {0}, 0, 0, 0, 0}, {1, {0}, 1, 1, 0, 0}, {1, {0}, 2, 20, 0, 0}, {1, {0}, 21, 63, 0, 0}}},
    {"five_refinements",
     1,
     0,
     {{1, {0}, 0, 0, 0, 3},
      {1, {0}, 1, 63, 0, 5},
      {1, {0}, 0, 0, 3, 2},
      {1, {0}, 1, 63, 5, 4},
      {1, {0}, 1, 63, 4, 3},
      {1, {0}, 1, 63, 3, 2},
      {1, {0}, 0, 0, 2, 1},
      {1, {0}, 0, 0, 1, 0},
      {1, {0}, 1, 63, 2, 1},
      {1, {0}, 1, 63, 1, 0}}},
    {"bands_refined_apart_with_restarts",
     3,
     3,
     {{3, {0, 1, 2}, 0, 0, 0, 1},
      {1, {0}, 1, 5, 0, 2},
      {1, {2}, 1, 63, 0, 1},
      {1, {1}, 1, 63, 0, 1},
      {1, {0}, 6, 63, 0, 2},
      {1, {0}, 1, 63, 2, 1},
      {3, {0, 1, 2}, 0, 0, 1, 0},
      {1, {2}, 1, 63, 1, 0},
      {1, {0}, 1, 9, 1, 0},
      {1, {0}, 10, 63, 1, 0},
      {1, {1}, 1, 63, 1, 0}}},
    {"components_apart",
     3,
     1,
     {{1, {1}, 0, 0, 0, 0},
      {1, {0}, 0, 0, 0, 0},
      {1, {0}, 1, 63, 0, 0},
      {1, {2}, 0, 0, 0, 0},
      {1, {2}, 1, 63, 0, 0},
      {1, {1}, 1, 63, 0, 0}}},
};

INSTANTIATE_TEST_SUITE_P(All, TurboScripts, testing::ValuesIn(kScripts),
                         [](const testing::TestParamInfo<ScriptCase>& c) { return c.param.name; });

TEST(OwnEntropySource, LeavesToLibjpegWhatItMightWarnAbout) {
  const Bytes bytes = write_progressive(kScripts[2], 40, 40);
  const auto accepts = [](const Bytes& changed) {
    const auto file = jpeg::parse(changed, Limits{});
    return file && OwnEntropySource::accepts(*file);
  };
  EXPECT_TRUE(accepts(bytes));
  Bytes cut(bytes.begin(), bytes.end() - 2);
  EXPECT_FALSE(accepts(cut));
  const auto file = jpeg::parse(bytes, Limits{});
  const auto second_scan = bytes.begin() + static_cast<std::ptrdiff_t>(file->scans[1].offset);
  const Bytes strange_jfif = {0xFF, 0xE0, 0, 16, 'J', 'F', 'I', 'F', 0, 9, 9, 0, 0, 1, 0, 1, 0, 0};
  Bytes late(bytes.begin(), second_scan);
  late.insert(late.end(), strange_jfif.begin(), strange_jfif.end());
  late.insert(late.end(), second_scan, bytes.end());
  EXPECT_FALSE(accepts(late));
}

TEST(OwnEntropySource, MaxScansAndTheDeadlineHold) {
  const Bytes bytes = write_progressive(kScripts[1], 40, 40);
  const auto file = jpeg::parse(bytes, Limits{});
  ASSERT_TRUE(file);
  CodecOutcome outcome;
  Context few;
  few.max_scans = 9;
  const auto codec = make_turbo_codec();
  const auto refused = codec->decode(*file, plan::kFullScale, few, outcome);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kTooLarge);
  Context late;
  late.deadline = base::Deadline(1);
  while (!late.deadline.passed()) {
  }
  const auto stopped = codec->decode(*file, plan::kFullScale, late, outcome);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), StatusCode::kDeadline);
}

class TurboEntropyCorpus : public testing::TestWithParam<const char*> {};

TEST_P(TurboEntropyCorpus, GivesWhatLibjpegGives) {
  const char* corpus = std::getenv("FRAMEWIRE_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "FRAMEWIRE_CORPUS is not set";
  constexpr std::int64_t kMaxPixels = 4'000'000;  // larger ones add time, not kinds
  int taken = 0;
  std::size_t turn = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(corpus) / GetParam())) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(in), {}};
    const auto file = jpeg::parse(bytes, Limits{});
    if (!file || !jpeg::check_supported(*file)) continue;
    if (std::int64_t{file->frame.width_px} * file->frame.height_px > kMaxPixels) continue;
    SCOPED_TRACE(entry.path().filename().string());
    constexpr std::array kScales{8, 6, 5, 4, 2, 1};
    const int scale = kScales[turn++ % kScales.size()];
    taken += expect_equal(*file, {scale, scale, scale, scale}) ? 1 : 0;
  }
  EXPECT_GT(taken, 30);
}

INSTANTIATE_TEST_SUITE_P(All, TurboEntropyCorpus, testing::Values("features", "hostile"));

}  // namespace
}  // namespace framewire::codec::turbo
