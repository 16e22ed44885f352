// Files that are refused: the code, and the offset that the message names.
#include <gtest/gtest.h>
#include <jpeg/parser.hpp>
#include <tests/support/tiny_jpeg.hpp>
#include <tests/unit/jpeg/libjpeg.hpp>

namespace framewire::jpeg {
namespace {

using tiny::at_marker;
using tiny::with_byte;
using tiny::with_insert;

struct BadFile {
  const char* name;
  Bytes bytes;
  StatusCode code;
  std::size_t offset;
};

class JpegParserRefuses : public testing::TestWithParam<BadFile> {};

TEST_P(JpegParserRefuses, WithCodeAndOffset) {
  const auto file = parse(GetParam().bytes, {});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), GetParam().code) << file.error().to_string();
  EXPECT_EQ(file.error().offset(), GetParam().offset) << file.error().to_string();
  if (GetParam().code != StatusCode::kInvalidInput) return;
  judge::Verdict verdict;
  judge::judge(GetParam().bytes, true, verdict);
  EXPECT_FALSE(verdict.decoded);
}

Bytes giant() {
  Bytes out = tiny::head();
  tiny::write_standard_tables(out);
  write_sof(out, tiny::color_frame(20000, 14000));
  write_sos(out, tiny::color_scan());
  write_eoi(out);
  return out;
}

Bytes too_many_blocks() {
  Bytes out = tiny::head();
  tiny::write_standard_tables(out);
  write_sof(out, tiny::color_frame(64, 64, 4, 3));
  write_sos(out, tiny::color_scan());
  write_eoi(out);
  return out;
}

constexpr auto kInvalid = StatusCode::kInvalidInput;

INSTANTIATE_TEST_SUITE_P(
    , JpegParserRefuses,
    testing::Values(
        BadFile{"Empty", {}, kInvalid, 0}, BadFile{"NoSoi", {0xFF, 0xD9, 0, 0}, kInvalid, 0},
        BadFile{"LeadingByte", with_insert(0xD8, {0}), kInvalid, 0},
        BadFile{"NoFrame", {0xFF, 0xD8, 0xFF, 0xD9}, kInvalid, 4},
        BadFile{"ScanBeforeFrame", with_insert(0xC0, {0xFF, 0xDA, 0, 2}), kInvalid,
                at_marker(0xC0)},
        BadFile{"SecondSoi", with_insert(0xC0, {0xFF, 0xD8}), kInvalid, at_marker(0xC0)},
        BadFile{"ReservedMarker", with_insert(0xC0, {0xFF, 0xF3}), kInvalid, at_marker(0xC0)},
        BadFile{"JpgMarker", with_insert(0xC0, {0xFF, 0xC8}), StatusCode::kUnsupported,
                at_marker(0xC0)},
        BadFile{"FrameLength", with_byte(0xC0, 3, 16), kInvalid, at_marker(0xC0)},
        BadFile{"ZeroWidth", with_byte(0xC0, 8, 0), kInvalid, at_marker(0xC0)},
        BadFile{"ZeroHeight", with_byte(0xC0, 6, 0), kInvalid, at_marker(0xC0)},
        BadFile{"NoComponents", with_byte(0xC0, 9, 0), kInvalid, at_marker(0xC0)},
        BadFile{"ZeroSampling", with_byte(0xC0, 11, 0x02), kInvalid, at_marker(0xC0)},
        BadFile{"SamplingFive", with_byte(0xC0, 11, 0x25), kInvalid, at_marker(0xC0)},
        BadFile{"QuantSlot", with_byte(0xC0, 12, 4), kInvalid, at_marker(0xC0)},
        BadFile{"QuantUndefined", with_byte(0xC0, 12, 2), kInvalid, at_marker(0xDA)},
        BadFile{"DqtSlot", with_byte(0xDB, 4, 4), kInvalid, at_marker(0xDB)},
        BadFile{"DqtLength", with_byte(0xDB, 3, 66), kInvalid, at_marker(0xDB)},
        BadFile{"DqtTooShort", with_byte(0xDB, 3, 1), kInvalid, at_marker(0xDB)},
        BadFile{"DhtClass", with_byte(0xC4, 4, 0x20), kInvalid, at_marker(0xC4)},
        BadFile{"DhtSlot", with_byte(0xC4, 4, 0x04), kInvalid, at_marker(0xC4)},
        BadFile{"DhtCounts", with_byte(0xC4, 5, 200), kInvalid, at_marker(0xC4)},
        BadFile{"ScanComponentId", with_byte(0xDA, 5, 9), kInvalid, at_marker(0xDA)},
        BadFile{"ScanComponentTwice", with_byte(0xDA, 7, 1), kInvalid, at_marker(0xDA)},
        BadFile{"ScanLength", with_byte(0xDA, 3, 11), kInvalid, at_marker(0xDA)},
        BadFile{"ScanTableUndefined", with_byte(0xDA, 6, 0x20), kInvalid, at_marker(0xDA)},
        BadFile{"ElevenBlocks", too_many_blocks(), kInvalid,
                tiny::find_marker(too_many_blocks(), 0xDA)},
        BadFile{"Giant", giant(), StatusCode::kTooLarge, tiny::find_marker(giant(), 0xC0)}),
    [](const auto& test) { return test.param.name; });

TEST(JpegParser, RefusesATableWithTheAllOnesCode) {
  Bytes bytes = tiny::baseline();
  const std::size_t dht = tiny::find_marker(bytes, 0xC4);
  bytes[dht + 5] = 2;  // two codes of one bit: 0 and the reserved 1
  bytes[dht + 7] = 3;  // in place of two of the five codes of three bits
  const auto file = parse(bytes, {});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().offset(), dht);
  judge::Verdict verdict;
  judge::judge(bytes, true, verdict);
  EXPECT_FALSE(verdict.decoded);
}

TEST(JpegParser, LimitsAreCheckedFromTheHeadersAlone) {
  const Bytes bytes = tiny::progressive();
  Limits limits;
  limits.max_input_bytes = bytes.size() - 1;
  EXPECT_EQ(parse(bytes, limits).error().code(), StatusCode::kTooLarge);
  limits = {};
  limits.max_input_pixels = 32 * 16 - 1;
  EXPECT_EQ(parse(bytes, limits).error().code(), StatusCode::kTooLarge);
  limits = {};
  limits.max_scans = 2;
  EXPECT_EQ(parse(bytes, limits).error().code(), StatusCode::kTooLarge);
  limits = {};
  limits.max_scan_pixels = 32 * 16 * 3 - 1;
  EXPECT_EQ(parse(bytes, limits).error().code(), StatusCode::kTooLarge);
  limits.max_scan_pixels = 32 * 16 * 3;
  EXPECT_TRUE(parse(bytes, limits));
}

}  // namespace
}  // namespace framewire::jpeg
