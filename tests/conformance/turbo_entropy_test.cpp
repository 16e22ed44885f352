// The CPU codec's own entropy decoder against libjpeg's: the same planes, warnings and errors,
// whatever the file, but for the damage that libjpeg keeps to itself.
#include <gtest/gtest.h>
#include <algorithm>
#include <codec/turbo/decoder.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/writer.hpp>
#include <numeric>
#include <random>
#include <tests/conformance/codecs.hpp>
#include <tests/support/libjpegs_warnings.hpp>

namespace framewire::conformance {
namespace {

using codec::turbo::EntropyDecoder;
using codec::turbo::OwnEntropySource;
using ByteSpan = std::span<const std::uint8_t>;

constexpr plan::Scales kScales[] = {{8, 8, 8, 8}, {6, 6, 6, 6}, {5, 5, 5, 5},
                                    {4, 8, 8, 4}, {4, 4, 4, 4}, {6, 4, 5, 2},
                                    {2, 4, 2, 2}, {2, 2, 2, 2}, {1, 1, 1, 1}};

/// What one way to decode made of a file.
struct Decoded {
  codec::Planes planes;
  std::vector<Warning> warnings;
  std::string error;
};

Decoded decode(EntropyDecoder entropy, const jpeg::JpegFile& file, const plan::Scales& scales,
               bool strict) {
  codec::Context context;
  context.strict = strict;
  codec::CodecOutcome outcome;
  auto planes = codec::make_turbo_codec_with(entropy)->decode(file, scales, context, outcome);
  Decoded d;
  d.warnings = std::move(outcome.warnings);
  if (planes) {
    d.planes = std::move(*planes);
  } else {
    d.error = planes.error().to_string();
  }
  return d;
}

void expect_equal(const Decoded& own, const Decoded& libjpeg) {
  const auto has = [](const std::string& error, const char* words) {
    return error.find(words) != std::string::npos;
  };
  const bool told_by_us_alone = has(own.error, "a scan has ");
  const bool padding = own.error.empty() && has(libjpeg.error, "extraneous_bytes: ");
  if (!told_by_us_alone && !padding) {
    EXPECT_EQ(own.error, libjpeg.error);
  }
  test::expect_libjpegs_warnings(own.warnings, libjpeg.warnings);
  if (told_by_us_alone || padding) return;
  ASSERT_EQ(own.planes.planes.size(), libjpeg.planes.planes.size());
  for (std::size_t i = 0; i < own.planes.planes.size(); ++i) {
    EXPECT_TRUE(own.planes.planes[i].samples == libjpeg.planes.planes[i].samples) << "plane " << i;
  }
}

void expect_equal(const jpeg::JpegFile& file, const plan::Scales& scales, bool strict = false) {
  expect_equal(decode(EntropyDecoder::kOwn, file, scales, strict),
               decode(EntropyDecoder::kLibjpeg, file, scales, strict));
}

/// Whether our own entropy decoder reads the file to its end.
bool reads_whole(const jpeg::JpegFile& file) {
  const codec::Context context;
  std::vector<int> wanted(static_cast<std::size_t>(file.frame.component_count));
  std::iota(wanted.begin(), wanted.end(), 0);
  codec::turbo::Attempt attempt{EntropyDecoder::kOwn};
  auto decoder = codec::turbo::Decoder::open(file, plan::kFullScale, wanted, context, attempt);
  if (!OwnEntropySource::accepts(file) || !decoder) return false;
  for (;;) {
    const auto more = (*decoder)->read();
    if (!more) return false;
    if (!*more) return true;
  }
}

struct EntropyCell {
  Layout layout;
  Coding coding;
};

/// A gray picture of 64 blocks, each of which adds 32767 to the DC coefficient before.
std::vector<std::uint8_t> with_wide_dc(bool progressive) {
  std::vector<std::uint8_t> out;
  jpeg::write_marker(out, jpeg::marker::kSoi);
  jpeg::QuantTable quantiser;
  quantiser.values.fill(1);
  jpeg::write_dqt(out, 0, quantiser);
  jpeg::FrameSpec frame;
  frame.marker = progressive ? jpeg::marker::kSof2 : jpeg::marker::kSof0;
  frame.width_px = frame.height_px = 64;
  frame.component_count = 1;
  jpeg::write_sof(out, frame);
  jpeg::HuffmanTable table;  // of one code, 0
  table.counts[0] = 1;
  table.value_count = 1;
  table.values[0] = 15;
  jpeg::write_dht(out, jpeg::TableClass::kDc, 0, table);
  table.values[0] = 0;
  jpeg::write_dht(out, jpeg::TableClass::kAc, 0, table);
  jpeg::ScanSpec scan;
  scan.component_count = 1;
  scan.id[0] = frame.id[0];
  if (progressive) {
    scan.spectral_end = 0;
    scan.approx_low = 1;
  }
  jpeg::write_sos(out, scan);
  std::uint32_t pending = 0;
  int count = 0;
  const auto put = [&](std::uint32_t bits, int size) {
    pending = pending << size | bits;
    for (count += size; count >= 8; count -= 8) {
      out.push_back(static_cast<std::uint8_t>(pending >> (count - 8)));
      if (out.back() == 0xFF) out.push_back(0);
    }
  };
  for (int i = 0; i < 64; ++i) {
    put(0x7FFF, 16);
    if (!progressive) put(0, 1);  // the end of the block
  }
  if (count != 0) put((1u << (8 - count)) - 1, 8 - count);
  jpeg::write_eoi(out);
  return out;
}

/// libjpeg keeps 16 bits of each and warns of none; the CUDA codec, too.
TEST(TurboEntropyData, WideDcCoefficientsWrap) {
  for (const bool progressive : {false, true}) {
    SCOPED_TRACE(progressive);
    const auto bytes = with_wide_dc(progressive);
    const auto file = parse_or_die(bytes);
    EXPECT_TRUE(reads_whole(file));
    for (const plan::Scales& scales : kScales) expect_equal(file, scales);
    const Decoded own = decode(EntropyDecoder::kOwn, file, plan::kFullScale, true);
    EXPECT_EQ(own.error, "");
  }
}

class TurboEntropy : public testing::TestWithParam<EntropyCell> {};

TEST_P(TurboEntropy, GivesLibjpegsPlanesAtEveryScale) {
  for (const Case& c : cases_of(GetParam().layout, GetParam().coding)) {
    SCOPED_TRACE(c.name());
    const auto bytes = make_jpeg(c);
    const auto file = parse_or_die(bytes);
    EXPECT_TRUE(reads_whole(file));
    for (const plan::Scales& scales : kScales) {
      SCOPED_TRACE(scales[0]);
      expect_equal(file, scales);
    }
  }
}

std::vector<EntropyCell> entropy_cells() {
  std::vector<EntropyCell> cells;
  for (const Layout& l : all_layouts()) {
    for (const char* name :
         {"baseline", "optimized", "sixteen_bit", "separate_scans", "progressive"}) {
      cells.push_back({l, coding(name)});
    }
  }
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Matrix, TurboEntropy, testing::ValuesIn(entropy_cells()),
                         [](const testing::TestParamInfo<EntropyCell>& cell) {
                           return cell.param.layout.name + "_" + cell.param.coding.name;
                         });

/// Small enough to try every byte.
class DamagedTurboEntropy : public testing::TestWithParam<Case> {
 protected:
  static void compare(ByteSpan bytes) {
    const auto file = jpeg::parse(bytes, Limits{});
    if (!file || !jpeg::check_supported(*file)) return;
    const plan::Scales& scales = kScales[bytes.size() % std::size(kScales)];
    expect_equal(*file, scales);
    expect_equal(*file, scales, true);
  }
};

TEST_P(DamagedTurboEntropy, CutAtEveryByte) {
  const auto bytes = make_jpeg(GetParam());
  for (std::size_t length = 2; length < bytes.size(); ++length) {
    SCOPED_TRACE(length);
    compare(ByteSpan(bytes).first(length));
    if (HasFailure()) return;
  }
}

TEST_P(DamagedTurboEntropy, CutAtEveryByteWithAnEndOfImage) {
  const auto bytes = make_jpeg(GetParam());
  for (std::size_t length = 2; length < bytes.size(); ++length) {
    SCOPED_TRACE(length);
    std::vector<std::uint8_t> cut(bytes.begin(),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(length));
    cut.insert(cut.end(), {0xFF, 0xD9});
    compare(cut);
    if (HasFailure()) return;
  }
}

TEST_P(DamagedTurboEntropy, EveryByteChanged) {
  const auto bytes = make_jpeg(GetParam());
  std::mt19937 random(7);
  for (std::size_t at = 2; at < bytes.size(); ++at) {
    for (const int value :
         {int{bytes[at]} ^ (1 << random() % 8), 0, 0xFF, static_cast<int>(random() % 256)}) {
      SCOPED_TRACE(std::to_string(at) + " = " + std::to_string(value));
      auto changed = bytes;
      changed[at] = static_cast<std::uint8_t>(value);
      compare(changed);
      if (HasFailure()) return;
    }
  }
}

std::vector<Case> damaged_cases() {
  std::vector<Case> cases;
  for (const char* name : {"baseline", "separate_scans", "progressive"}) {
    for (const int restart : {0, 2}) {
      cases.push_back({layout("420"), coding(name), 37, 35, 60, restart, 1});
    }
  }
  cases.push_back({layout("gray_2x2"), coding("baseline"), 33, 17, 75, 1, 2});
  cases.push_back({layout("gray"), coding("progressive"), 33, 17, 75, 3, 2});
  cases.push_back({layout("ycck_420"), coding("progressive"), 17, 17, 90, 0, 3});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Matrix, DamagedTurboEntropy, testing::ValuesIn(damaged_cases()),
                         [](const testing::TestParamInfo<Case>& cell) {
                           const Case& c = cell.param;
                           return c.layout.name + "_" + c.coding.name + "_restart_" +
                                  std::to_string(c.restart_interval_mcus);
                         });

/// Rows below those in use: libjpeg reads all scans of a progressive file first.
TEST(TurboEntropyTranscode, DamageBelowTheCropCountsAsWithLibjpeg) {
  for (const char* name : {"baseline", "progressive"}) {
    const Case c{layout("420"), coding(name), 250, 131, 60, 0, 1};
    auto bytes = make_jpeg(c);
    const auto whole = parse_or_die(bytes);
    bytes[whole.scans.back().entropy_offset + whole.scans.back().entropy_bytes - 40] ^= 0x10;
    const auto file = parse_or_die(bytes);
    ResizeOptions options;
    options.width_px = 60;
    options.crop_height = 40;
    options.gravity.anchor = Gravity::Anchor::kNo;
    const auto plan = plan::make_plan(file, options, plan::Capabilities{}, false);
    ASSERT_TRUE(plan);
    std::array<std::vector<std::uint8_t>, 2> out;
    std::array<codec::CodecOutcome, 2> outcome;
    for (const auto entropy : {EntropyDecoder::kOwn, EntropyDecoder::kLibjpeg}) {
      const auto at = static_cast<std::size_t>(entropy);
      const auto codec = codec::make_turbo_codec_with(entropy);
      ASSERT_TRUE(codec->transcode(file, *plan, {}, out[at], outcome[at]));
    }
    EXPECT_EQ(out[0], out[1]);
    test::expect_libjpegs_warnings(outcome[0].warnings, outcome[1].warnings);
  }
}

/// An output large enough to be streamed has rows in the encoder when the damage shows.
TEST(TurboEntropyTranscode, StreamedOutputStartsAgain) {
  Case c{layout("420"), coding("baseline"), 2500, 2000, 60, 0, 1};
  auto bytes = make_jpeg(c);
  const auto whole = parse_or_die(bytes);
  const std::size_t middle = whole.scans[0].entropy_offset + whole.scans[0].entropy_bytes / 2;
  bytes[middle] = 0xFF;
  bytes[middle + 1] = 0xD3;
  const auto file = parse_or_die(bytes);
  ASSERT_TRUE(OwnEntropySource::accepts(file));
  ASSERT_FALSE(reads_whole(file));
  ResizeOptions options;
  options.width_px = 2400;
  const auto plan = plan::make_plan(file, options, plan::Capabilities{}, false);
  ASSERT_TRUE(plan);
  std::array<std::vector<std::uint8_t>, 2> out;
  std::array<codec::CodecOutcome, 2> outcome;
  for (const auto entropy : {EntropyDecoder::kOwn, EntropyDecoder::kLibjpeg}) {
    const auto at = static_cast<std::size_t>(entropy);
    out[at] = {1, 2, 3};  // what is there stays there
    ASSERT_TRUE(
        codec::make_turbo_codec_with(entropy)->transcode(file, *plan, {}, out[at], outcome[at]));
  }
  EXPECT_EQ(out[0], out[1]);
  ASSERT_EQ(outcome[0].warnings.size(), 1u);
  EXPECT_EQ(outcome[0].warnings[0].message, outcome[1].warnings.at(0).message);
}

}  // namespace
}  // namespace framewire::conformance
