// read_coefficients() against the reference's coefficients and the CPU codec's verdicts: the whole
// matrix, files cut off at every byte, files with bytes changed, and real ones.
#include <gtest/gtest.h>
#include <algorithm>
#include <codec/reference/coefficients.hpp>
#include <codec/turbo/coefficient_reader.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <jpeg/parser.hpp>
#include <random>
#include <tests/conformance/codecs.hpp>

namespace framewire::conformance {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// What the two ways say about one file; equal ones print as equal.
struct Verdict {
  std::string error;
  std::vector<std::string> warnings;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

template <typename T>
Verdict verdict(const Result<T>& result, const codec::CodecOutcome& outcome) {
  Verdict v;
  if (!result) {
    v.error = result.error().to_string();
    return v;
  }
  for (const Warning& warning : outcome.warnings) {
    v.warnings.push_back(std::string(to_string(warning.kind)) + ": " + warning.message);
  }
  return v;
}

codec::Context with(bool strict) {
  codec::Context context;
  context.strict = strict;
  return context;
}

void expect_equal(const codec::Coefficients& found,
                  const codec::reference::PaddedCoefficients& expected,
                  const jpeg::FrameHeader& frame) {
  ASSERT_EQ(found.components.size(), expected.components.size());
  for (std::size_t c = 0; c < found.components.size(); ++c) {
    const codec::CoefficientPlane& plane = found.components[c];
    ASSERT_EQ(plane.width_blocks, frame.components[c].width_blocks);
    ASSERT_EQ(plane.height_blocks, frame.components[c].height_blocks);
    const std::int16_t* next = plane.coefficients.data();
    for (std::int32_t y = 0; y < plane.height_blocks; ++y) {
      for (std::int32_t x = 0; x < plane.width_blocks; ++x, next += 64) {
        ASSERT_TRUE(std::equal(next, next + 64, expected.components[c].at(x, y).begin()))
            << "component " << c << ", block " << x << ", " << y;
      }
    }
  }
}

/// @return whether there were coefficients to compare
bool check(const jpeg::JpegFile& file) {
  static const auto turbo = codec::make_turbo_codec();
  for (const bool strict : {true, false}) {
    codec::CodecOutcome theirs;
    codec::CodecOutcome ours;
    const auto planes = turbo->decode(file, plan::kFullScale, with(strict), theirs);
    const auto found = codec::read_coefficients(file, with(strict), ours);
    const Verdict expected = verdict(planes, theirs);
    const Verdict actual = verdict(found, ours);
    EXPECT_EQ(actual.error, expected.error) << "strict " << strict;
    EXPECT_EQ(actual.warnings, expected.warnings) << "strict " << strict;
    if (strict || !found) continue;
    const auto reference = codec::reference::decode_coefficients(file, {});
    if (!reference) continue;
    expect_equal(*found, *reference, file.frame);
    return true;
  }
  return false;
}

std::vector<Case> small_cases() {
  std::vector<Case> cases;
  for (const Coding& coding : all_codings()) {
    for (const int restart : {0, 2}) {
      cases.push_back({layout("420"), coding, 37, 35, 60, restart, 1});
    }
  }
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

TEST(ReadCoefficients, GivesTheReferencesOverTheMatrix) {
  int compared = 0;
  for (const Layout& layout : all_layouts()) {
    for (const Coding& coding : all_codings()) {
      for (const Case& c : cases_of(layout, coding)) {
        if (c.width_px > 300 || c.seed % 3 != 0) continue;
        SCOPED_TRACE(c.name());
        const Bytes bytes = make_jpeg(c);
        ASSERT_TRUE(check(parse_or_die(bytes)));
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 300);
}

class DamagedCoefficients : public testing::TestWithParam<Case> {};

TEST_P(DamagedCoefficients, OfTruncatedFilesAreTheReferences) {
  const Bytes bytes = make_jpeg(GetParam());
  const jpeg::JpegFile whole = parse_or_die(bytes);
  int compared = 0;
  for (const jpeg::Scan& scan : whole.scans) {
    for (std::size_t i = 0; i < scan.entropy_bytes; ++i) {
      SCOPED_TRACE(scan.entropy_offset + i);
      const auto cut =
          jpeg::parse(std::span<const std::uint8_t>(bytes).first(scan.entropy_offset + i), {});
      if (cut) compared += check(*cut) ? 1 : 0;
    }
  }
  EXPECT_GT(compared, 50);
}

TEST_P(DamagedCoefficients, OfChangedFilesAreTheReferences) {
  const Bytes bytes = make_jpeg(GetParam());
  const jpeg::JpegFile whole = parse_or_die(bytes);
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Bytes changed = bytes;
    const jpeg::Scan& scan = whole.scans[random() % whole.scans.size()];
    for (std::uint32_t i = 0; i < 1 + seed % 3; ++i) {
      const std::size_t at = scan.entropy_offset + random() % scan.entropy_bytes;
      if (changed[at - 1] == 0xFF || changed[at] == 0xFF) continue;
      changed[at] = static_cast<std::uint8_t>(random() % 0xFF);
    }
    const auto file = jpeg::parse(changed, {});
    if (file) compared += check(*file) ? 1 : 0;
  }
  EXPECT_GT(compared, 150);
}

INSTANTIATE_TEST_SUITE_P(Matrix, DamagedCoefficients, testing::ValuesIn(small_cases()), case_name);

TEST(ReadCoefficients, MaxScansAndTheDeadlineHold) {
  const Bytes bytes = make_jpeg({layout("420"), coding("progressive"), 64, 64, 75, 0, 1});
  const jpeg::JpegFile file = parse_or_die(bytes);
  codec::CodecOutcome outcome;
  codec::Context few;
  few.max_scans = 2;
  const auto refused = codec::read_coefficients(file, few, outcome);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kTooLarge);
  codec::Context late;
  late.deadline = base::Deadline(1);
  while (!late.deadline.passed()) {
  }
  const auto stopped = codec::read_coefficients(file, late, outcome);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), StatusCode::kDeadline);
}

class CoefficientsCorpus : public testing::TestWithParam<const char*> {};

TEST_P(CoefficientsCorpus, AreTheReferences) {
  const char* corpus = std::getenv("FRAMEWIRE_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "FRAMEWIRE_CORPUS is not set";
  Limits limits;
  limits.max_input_pixels = 1'000'000;
  limits.max_scan_pixels = 10'000'000;
  int compared = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(corpus) / GetParam())) {
    if (!entry.is_regular_file() || entry.file_size() > 300'000) continue;
    SCOPED_TRACE(entry.path());
    std::ifstream in(entry.path(), std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto file = jpeg::parse(bytes, limits);
    if (!file || !jpeg::check_supported(*file)) continue;
    compared += check(*file) ? 1 : 0;
  }
  EXPECT_GT(compared, 30);
}

INSTANTIATE_TEST_SUITE_P(All, CoefficientsCorpus, testing::Values("features", "hostile"));

}  // namespace
}  // namespace framewire::conformance
