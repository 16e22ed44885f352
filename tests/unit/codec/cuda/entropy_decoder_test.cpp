// The entropy decoder of the CUDA codec, its very steps run on the host one subsequence after the
// other, against a plain sequential decoder.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <codec/cuda/decode/entropy_layout.hpp>
#include <codec/cuda/decode/span_decoder.hpp>
#include <codec/cuda/decode/unstuffer.hpp>
#include <codec/cuda/encode/block_coder.hpp>
#include <jpeg/huffman.hpp>
#include <random>
#include <span>
#include <vector>

namespace framewire::codec::cuda {
namespace {

using Block = std::array<std::int16_t, 64>;  // zig-zag order, DC as a difference

CanonicalCode canonical(const jpeg::HuffmanTable& table) {
  CanonicalCode code{};
  std::uint32_t next = 0;
  std::int32_t index = 0;
  for (std::size_t length = 1; length <= 16; ++length) {
    code.offset[length] = index - static_cast<std::int32_t>(next);
    next += table.counts[length - 1];
    index += table.counts[length - 1];
    code.limit[length] = next << (16 - length);
    next <<= 1;
  }
  std::copy(table.values.begin(), table.values.end(), code.values);
  return code;
}

/// Both standard pairs of codes, with every entry built as the kernel builds it.
struct Tables {
  CanonicalCode codes[4];
  std::vector<std::uint32_t> entries[4];
  std::vector<Step> steps[4];

  Tables() {
    for (int slot = 0; slot < 2; ++slot) {
      codes[slot * 2] = canonical(jpeg::standard_huffman_table(jpeg::TableClass::kDc, slot));
      codes[slot * 2 + 1] = canonical(jpeg::standard_huffman_table(jpeg::TableClass::kAc, slot));
      for (int table = slot * 2; table < slot * 2 + 2; ++table) {
        for (std::uint32_t i = 0; i < kTableEntries; ++i) {
          entries[table].push_back(
              build_entry(codes[slot * 2], codes[slot * 2 + 1], table % 2 == 0, i));
        }
        for (std::uint32_t i = 0; i < kStepEntries; ++i) {
          steps[table].push_back(
              build_step(codes[slot * 2], codes[slot * 2 + 1], table % 2 == 0, i));
        }
      }
    }
  }
  std::uint32_t entry(std::uint32_t table, std::uint32_t index) const {
    return entries[table][index];
  }
  Step step(std::uint32_t table, std::uint32_t index) const { return steps[table][index]; }
  std::uint32_t long_symbol(std::uint32_t table, std::uint32_t window) const {
    const bool dc = table % 2 == 0;
    const std::uint32_t index = (window >> 16) - long_start(codes[table]);
    if (index < kLongEntries) return expand_long(build_long(codes[table], dc, index));
    return walk_code(codes[table], dc, window);
  }
};

const Tables& tables() {
  static const Tables kTables;
  return kTables;
}

/// Bits to stuffed bytes.
struct ByteSink {
  std::vector<std::uint8_t> bytes;
  std::uint64_t pending = 0;
  std::uint32_t count = 0;
  void put(std::uint32_t bits, std::uint32_t bit_count) {
    pending = pending << bit_count | bits;
    for (count += bit_count; count >= 8; count -= 8) {
      bytes.push_back(static_cast<std::uint8_t>(pending >> (count - 8)));
      if (bytes.back() == 0xFF) bytes.push_back(0);
    }
  }
  void flush() {
    if (count != 0) put((1u << (8 - count)) - 1, 8 - count);
  }
};

/// Blocks in the MCU order of 4:2:0, of which few or many coefficients are not zero.
std::vector<Block> random_blocks(unsigned seed, std::size_t mcus, double density, int magnitude) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> chance(0, 1);
  std::uniform_int_distribution<int> value(-magnitude, magnitude);
  std::vector<Block> blocks(mcus * 6);
  for (Block& block : blocks) {
    block[0] = static_cast<std::int16_t>(value(random));
    for (std::size_t k = 1; k < 64; ++k) {
      if (chance(random) < density / (1.0 + static_cast<double>(k) / 8)) {
        block[k] = static_cast<std::int16_t>(value(random));
      }
    }
  }
  return blocks;
}

constexpr PhasePattern k420{2u << 12 | 2u << 15, 6};  // Y Y Y Y Cb Cr

std::vector<std::uint8_t> encode(const std::vector<Block>& blocks) {
  std::array<std::uint32_t, 1024> codes{};
  for (int slot = 0; slot < 2; ++slot) {
    for (const jpeg::TableClass kind : {jpeg::TableClass::kDc, jpeg::TableClass::kAc}) {
      const auto table = jpeg::make_encode_table(jpeg::standard_huffman_table(kind, slot));
      for (std::size_t i = 0; i < 256; ++i) {
        codes[static_cast<std::size_t>(slot) * 512 + (kind == jpeg::TableClass::kAc ? 256 : 0) +
              i] = static_cast<std::uint32_t>(table.length[i]) << 16 | table.code[i];
      }
    }
  }
  ByteSink sink;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    std::uint64_t mask = 0;
    for (std::size_t k = 0; k < 64; ++k) {
      if (blocks[b][k] != 0) mask |= 1ull << k;
    }
    code_block(blocks[b].data(), mask, blocks[b][0], &codes[b % 6 < 4 ? 0 : 512], sink);
  }
  sink.flush();
  return sink.bytes;
}

constexpr std::uint32_t kSize = kMaxSubsequenceBytes;
constexpr std::uint32_t kWords = column_words(kSize);

struct Column {
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(kWords, 0);
  std::uint32_t bits = 0;
};
struct ColumnReader {
  const std::uint32_t* words;
  std::uint32_t at = 0;
  ColumnReader from_pair(std::uint32_t pair) const { return {words, pair * 2}; }
  WordPair take() {
    EXPECT_LT(at, kWords);
    at += 2;
    return {words[at - 2], words[at - 1]};
  }
  void slide(std::uint32_t changed, WindowWords& window) { window.slide(changed, *this); }
};

std::vector<Column> make_columns(std::vector<std::uint8_t> bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  bytes.resize(size + sizeof(Quad));
  std::vector<Column> columns;
  for (std::uint32_t at = 0; at < size; at += kSize) {
    Column column;
    const auto store = [&](std::uint32_t pair, std::uint32_t first, std::uint32_t second) {
      column.words.at(pair * 2) = first;
      column.words.at(pair * 2 + 1) = second;
    };
    const UnstuffResult result =
        unstuff(bytes.data(), at, std::min(at + kSize, size), size, kWords, at == 0, store);
    EXPECT_EQ(result.marker, kNoMarker);
    column.bits = result.bytes * 8;
    columns.push_back(column);
  }
  return columns;
}

struct BlockSink {
  std::vector<Block>& blocks;
  std::uint32_t last_index;
  std::uint32_t current = 0;
  void begin(std::uint32_t block, bool /*continued*/, bool /*marked*/) { current = block; }
  void put(std::uint32_t index, std::int32_t value) {
    EXPECT_LE(index, kMaxSinkIndex);
    if (index <= last_index) blocks.at(current).at(index) = static_cast<std::int16_t>(value);
  }
  void end(bool /*complete*/) {}
};

/// Where a column begins.
struct Start {
  std::uint32_t state = 0;
  std::uint32_t block = 0;
};

/// Where every column begins, and the end: found by decoding the columns in order. The kernels must
/// find the same.
std::vector<Start> true_starts(const std::vector<Column>& columns) {
  std::vector<Start> starts(1);
  for (const Column& column : columns) {
    const SkipResult skipped = skip_span(ColumnReader{column.words.data()}, tables(), k420,
                                         column.bits, unpack(starts.back().state));
    starts.push_back({skipped.state, starts.back().block + skipped.blocks});
  }
  return starts;
}

/// Decodes every column from where it begins; checks the end.
std::vector<Block> decode(const std::vector<Column>& columns, std::size_t count,
                          std::uint32_t last_index) {
  std::vector<Block> blocks(count);
  const auto starts = true_starts(columns);
  EXPECT_GE(starts.back().block, count);  // padding may look like one more
  for (std::size_t i = 0; i < columns.size(); ++i) {
    BlockSink sink{blocks, last_index};
    const DecodeState state = unpack(starts[i].state);
    EXPECT_EQ(state.phase, starts[i].block % 6);
    const SpanResult result =
        write_span(ColumnReader{columns[i].words.data()}, tables(), k420, columns[i].bits, state,
                   starts[i].block, static_cast<std::uint32_t>(count), sink);
    EXPECT_FALSE(result.bad);
    // The last step may complete a block that ends in the next column.
    EXPECT_GE(result.block, std::min<std::size_t>(starts[i + 1].block, count));
    EXPECT_LE(result.block, starts[i + 1].block + (unpack(starts[i + 1].state).index != 0 ? 1 : 0));
  }
  return blocks;
}

TEST(CudaEntropyDecoder, ReadsBackWhatWasWritten) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const double density = seed % 3 == 0 ? 0.05 : seed % 3 == 1 ? 0.5 : 2.0;
    const auto blocks = random_blocks(seed, 120, density, seed % 4 == 3 ? 900 : 12);
    const auto columns = make_columns(encode(blocks));
    ASSERT_GT(columns.size(), 2u);
    EXPECT_EQ(decode(columns, blocks.size(), 63), blocks) << "seed " << seed;
  }
}

TEST(CudaEntropyDecoder, SkippingHighFrequenciesLeavesTheLowOnesAlone) {
  for (const std::uint32_t last : {0u, 4u, 24u}) {
    auto blocks = random_blocks(7, 200, 1.0, 40);
    const auto columns = make_columns(encode(blocks));
    for (Block& block : blocks) std::fill(block.begin() + last + 1, block.end(), std::int16_t{0});
    EXPECT_EQ(decode(columns, blocks.size(), last), blocks) << "last index " << last;
  }
}

TEST(CudaEntropyDecoder, WrongGuessesMeetTheTruePath) {
  const auto blocks = random_blocks(3, 2000, 0.6, 20);
  const auto columns = make_columns(encode(blocks));
  const auto starts = true_starts(columns);
  std::size_t met = 0;
  for (std::size_t i = 0; i + 3 < columns.size(); ++i) {
    std::uint32_t state = 0;  // a guess at the start of column i, repaired over three columns
    for (std::size_t k = i; k < i + 3; ++k) {
      state = skip_span(ColumnReader{columns[k].words.data()}, tables(), k420, columns[k].bits,
                        unpack(state))
                  .state;
    }
    met += state == starts[i + 3].state ? 1 : 0;
  }
  EXPECT_GT(met * 10, (columns.size() - 3) * 9) << "of " << columns.size() - 3;
}

TEST(CudaEntropyDecoder, AnyBytesEndWithinTheColumn) {
  std::mt19937 engine(1);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (int run = 0; run < 300; ++run) {
    std::vector<std::uint8_t> bytes(700);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % (run % 5 == 0 ? 2 : 255));
    for (const Column& column : make_columns(bytes)) {
      const SkipResult skipped =
          skip_span(ColumnReader{column.words.data()}, tables(), k420, column.bits,
                    DecodeState{random() % 31, random() % 6, random() % 64});
      EXPECT_LE(unpack(skipped.state).bit, 31u);
      std::vector<Block> blocks(8);
      BlockSink sink{blocks, 63};
      const SpanResult written = write_span(ColumnReader{column.words.data()}, tables(), k420,
                                            column.bits, DecodeState{}, 0, 8, sink);
      EXPECT_LE(written.block, 8u);
    }
  }
}

TEST(CudaUnstuffer, FindsMarkersAndZerosAcrossBoundaries) {
  for (std::uint32_t at = kSize - 3; at < kSize + 3; ++at) {
    std::vector<std::uint8_t> bytes(2 * kSize, 0x5A);
    bytes[at] = 0xFF;
    bytes[at + 1] = 0;
    std::uint32_t kept = 0;
    for (std::uint32_t begin : {0u, kSize}) {
      kept += unstuff(bytes.data(), begin, begin + kSize, 2u * kSize, kWords, begin == 0,
                      [](std::uint32_t, std::uint32_t, std::uint32_t) {})
                  .bytes;
    }
    EXPECT_EQ(kept, 2u * kSize - 1) << "0xFF at " << at;
    bytes[at + 1] = 0xD9;
    const std::uint32_t owner = at / kSize * kSize;
    const auto found = unstuff(bytes.data(), owner, owner + kSize, 2u * kSize, kWords, owner == 0,
                               [](std::uint32_t, std::uint32_t, std::uint32_t) {});
    EXPECT_EQ(found.marker, at);
  }
}

/// What unstuff() makes of bytes, one at a time.
struct Walk {
  std::vector<std::uint8_t> kept;  ///< of the subsequence and behind it
  std::uint32_t own = 0;
  std::uint32_t marker = kNoMarker;
};

Walk walk_bytes(const std::uint8_t* data, std::uint32_t begin, std::uint32_t own_end,
                std::uint32_t end, std::uint32_t words, bool first) {
  Walk walk;
  std::uint32_t i = begin + (!first && begin < end && data[begin - 1] == 0xFF ? 1 : 0);
  while (i < end && walk.kept.size() < words * 4) {
    const bool escape = data[i] == 0xFF;
    if (escape && (i + 1 == end || data[i + 1] != 0)) {
      if (i < own_end) walk.marker = i;
      break;
    }
    walk.kept.push_back(data[i]);
    walk.own += i < own_end ? 1 : 0;
    i += escape ? 2 : 1;
  }
  return walk;
}

/// Bytes of which many are 0xFF, followed by zero but where `markers`.
void fill_stuffed(std::span<std::uint8_t> bytes, std::mt19937& random, bool markers) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(random() % 3 == 0 ? 0xFF : random() % 255);
    if (bytes[i] != 0xFF || i + 1 == bytes.size()) continue;
    const bool marker = markers && random() % 8 == 0;
    bytes[++i] = static_cast<std::uint8_t>(marker ? 0xD0 + random() % 48 : 0);
  }
}

TEST(CudaUnstuffer, KeepsWhatAWalkKeepsAtAnyAlignment) {
  std::mt19937 engine(5);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (int run = 0; run < 20000; ++run) {
    alignas(16) std::array<std::uint8_t, 160> memory{};
    fill_stuffed(memory, engine, run % 2 == 0);
    const std::uint8_t* data = memory.data() + 16 + random() % 16;
    const std::uint32_t begin = random() % 20;
    const std::uint32_t own_end = begin + 1 + random() % 48;
    const std::uint32_t end = own_end + random() % 24;
    const bool first = begin == 0 || random() % 2 == 0;
    const std::uint32_t words = column_words(48);
    static_assert(column_words(48) % 2 == 0);
    const Walk want = walk_bytes(data, begin, own_end, end, words, first);
    std::vector<std::uint32_t> column(words, 0xFFFFFFFFu);
    const auto store = [&](std::uint32_t pair, std::uint32_t first_word, std::uint32_t second) {
      column.at(pair * 2) = first_word;
      column.at(pair * 2 + 1) = second;
    };
    const UnstuffResult got = unstuff(data, begin, own_end, end, words, first, store);
    ASSERT_EQ(got.bytes, want.own) << "run " << run;
    ASSERT_EQ(got.marker, want.marker) << "run " << run;
    for (std::size_t i = 0; i < words * 4; ++i) {
      const std::uint32_t byte = column[i / 4] >> (24 - i % 4 * 8) & 0xFF;
      ASSERT_EQ(byte, i < want.kept.size() ? want.kept[i] : 0xFFu) << "run " << run << " at " << i;
    }
  }
}

}  // namespace
}  // namespace framewire::codec::cuda
