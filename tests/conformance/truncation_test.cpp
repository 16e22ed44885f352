// Files cut off at every byte, and files with bytes changed: no crash, no stale memory, the same
// result every time, and for the reference the very coefficients that libjpeg-turbo salvages.
#include <gtest/gtest.h>
#include <algorithm>
#include <codec/reference/coefficients.hpp>
#include <codec/reference/reference_codec.hpp>
#include <jpeg/parser.hpp>
#include <random>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/libjpeg.hpp>
#include <transform/dct.hpp>
#include <transform/quant.hpp>

namespace framewire::conformance {
namespace {

using ByteSpan = std::span<const std::uint8_t>;

std::vector<Case> truncated_cases() {
  std::vector<Case> cases;
  for (const Coding& coding : all_codings()) {
    for (const int restart : {0, 2}) {
      cases.push_back({layout("420"), coding, 37, 35, 60, restart, 1});
    }
  }
  cases.push_back({layout("gray"), coding("baseline"), 33, 17, 75, 1, 2});
  cases.push_back({layout("cmyk"), coding("baseline"), 17, 17, 75, 0, 3});
  return cases;
}

struct TruncationCell {
  CodecEntry codec;
  Case c;
};

/// Whether byte `at` is entropy-coded. Elsewhere libjpeg reads the EOI that its source makes up at
/// the end as if it were part of a header, which nobody should imitate.
bool in_entropy_data(const jpeg::JpegFile& file, std::size_t at) {
  return std::any_of(file.scans.begin(), file.scans.end(), [at](const jpeg::Scan& scan) {
    return at >= scan.entropy_offset && at < scan.entropy_offset + scan.entropy_bytes;
  });
}

class Truncation : public testing::TestWithParam<TruncationCell> {};

/// What decode() gave, or the code it failed with.
struct Attempt {
  codec::Planes planes;
  std::vector<Warning> warnings;
  std::optional<Status> error;
};

Attempt attempt(const codec::Codec& codec, ByteSpan bytes, bool strict = false) {
  Attempt a;
  auto file = jpeg::parse(bytes, Limits{});
  if (!file) {
    a.error = file.error();
    return a;
  }
  codec::Context context;
  context.strict = strict;
  codec::CodecOutcome outcome;
  auto planes = codec.decode(*file, plan::kFullScale, context, outcome);
  if (planes) {
    a.planes = std::move(*planes);
  } else {
    a.error = planes.error();
  }
  a.warnings = std::move(outcome.warnings);
  return a;
}

bool same_samples(const codec::Planes& a, const codec::Planes& b) {
  return std::equal(a.planes.begin(), a.planes.end(), b.planes.begin(), b.planes.end(),
                    [](const auto& p, const auto& q) { return p.samples == q.samples; });
}

/// Makes whatever memory is handed out next anything but zero.
void poison_heap() {
  std::vector<std::vector<std::uint8_t>> blocks;
  for (std::size_t size = 64; size <= 1 << 14; size *= 2) {
    for (int i = 0; i < 2; ++i) blocks.emplace_back(size, static_cast<std::uint8_t>(0xA5));
  }
}

/// Whether a block's samples, before they are clamped, are not absurdly far outside 0 to 255.
/// Damaged data makes other blocks too; there integer transforms wrap or saturate as they please.
bool is_sane(const codec::reference::Block& levels, const jpeg::QuantTable& quantiser) {
  static const transform::DctBasis<8> basis = transform::make_dct_basis();
  double coefficients[64];
  double samples[64];
  for (std::size_t k = 0; k < 64; ++k) {
    coefficients[k] = transform::dequantise(levels[k], quantiser.values[k]);
    if (std::abs(coefficients[k]) > 8192) return false;
  }
  transform::idct<8>(basis, basis, coefficients, samples);
  return std::all_of(samples, samples + 64, [](double s) { return s > -384 && s < 383; });
}

int block_difference(const codec::Plane& a, const codec::Plane& b, std::int32_t left,
                     std::int32_t top) {
  int largest = 0;
  for (std::int32_t y = top; y < std::min(top + 8, a.height_px); ++y) {
    for (std::int32_t x = left; x < std::min(left + 8, a.width_px); ++x) {
      const auto at = static_cast<std::size_t>(y) * a.width_px + x;
      largest = std::max(largest, std::abs(a.samples[at] - b.samples[at]));
    }
  }
  return largest;
}

/// Largest difference of two decodes over the sane blocks.
int largest_difference(const jpeg::JpegFile& file, const codec::Planes& a, const codec::Planes& b) {
  const auto coefficients = codec::reference::decode_coefficients(file, {});
  int largest = 0;
  for (std::size_t i = 0; i < a.planes.size(); ++i) {
    const auto& blocks = coefficients->components[i];
    const int table = file.component_quant[i];
    const jpeg::QuantTable quantiser =
        table < 0 ? jpeg::QuantTable{} : file.quant_tables[static_cast<std::size_t>(table)];
    const codec::Plane& plane = a.planes[i];
    for (std::int32_t y = 0; y < plane.height_px; y += 8) {
      for (std::int32_t x = 0; x < plane.width_px; x += 8) {
        if (is_sane(blocks.at(x / 8, y / 8), quantiser)) {
          largest = std::max(largest, block_difference(plane, b.planes[i], x, y));
        }
      }
    }
  }
  return largest;
}

TEST_P(Truncation, EveryLengthGivesTheReferencesPictureOrATypedError) {
  const auto codec = GetParam().codec.make();
  const auto reference = codec::make_reference_codec();
  const auto bytes = make_jpeg(GetParam().c);
  const auto whole = parse_or_die(bytes);
  std::size_t compared = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    SCOPED_TRACE(length);
    const std::vector<std::uint8_t> cut(bytes.begin(),
                                        bytes.begin() + static_cast<std::ptrdiff_t>(length));
    const Attempt first = attempt(*codec, cut);
    poison_heap();
    const Attempt second = attempt(*codec, cut);
    ASSERT_EQ(first.error.has_value(), second.error.has_value());
    const bool entropy = in_entropy_data(whole, length);
    if (first.error) {
      EXPECT_FALSE(entropy) << first.error->to_string();
      EXPECT_EQ(first.error->code(), StatusCode::kInvalidInput) << first.error->to_string();
      continue;
    }
    EXPECT_TRUE(same_samples(first.planes, second.planes));
    EXPECT_TRUE(std::any_of(first.warnings.begin(), first.warnings.end(),
                            [](const Warning& w) { return w.kind == WarningKind::kTruncated; }));
    const Attempt strict = attempt(*codec, cut, true);
    ASSERT_TRUE(strict.error);
    EXPECT_EQ(strict.error->code(), StatusCode::kInvalidInput);
    if (!entropy) continue;
    ++compared;
    if (codec->kind() == CodecKind::kReference) continue;  // Salvage judges it
    const Attempt expected = attempt(*reference, cut);
    ASSERT_FALSE(expected.error) << expected.error->to_string();
    EXPECT_LE(largest_difference(parse_or_die(cut), first.planes, expected.planes), 1);
  }
  EXPECT_GT(compared, 50u);
}

std::vector<TruncationCell> truncation_cells() {
  std::vector<TruncationCell> cells;
  for (const CodecEntry& codec : all_codecs()) {
    for (const Case& c : truncated_cases()) cells.push_back({codec, c});
  }
  return cells;
}

std::string case_name(const Case& c) {
  return c.layout.name + "_" + c.coding.name + "_restart_" +
         std::to_string(c.restart_interval_mcus);
}

INSTANTIATE_TEST_SUITE_P(Matrix, Truncation, testing::ValuesIn(truncation_cells()),
                         [](const testing::TestParamInfo<TruncationCell>& cell) {
                           return cell.param.codec.name + "_" + case_name(cell.param.c);
                         });

class Salvage : public testing::TestWithParam<Case> {
 protected:
  /// @return whether both decoded, and so were compared
  static bool compare(ByteSpan bytes) {
    auto file = jpeg::parse(bytes, Limits{});
    if (!file) return false;
    const auto expected = libjpeg_coefficients(bytes);
    const auto found = codec::reference::decode_coefficients(*file, {});
    if (!found || !expected) return false;
    for (std::size_t i = 0; i < expected->components.size(); ++i) {
      EXPECT_TRUE(found->components[i].blocks == expected->components[i].blocks) << i;
    }
    return true;
  }
};

TEST_P(Salvage, TruncatedFilesGiveLibjpegsCoefficients) {
  const auto bytes = make_jpeg(GetParam());
  const auto file = parse_or_die(bytes);
  std::size_t expected = 0;
  std::size_t compared = 0;
  for (std::size_t length = 2; length < bytes.size(); ++length) {
    if (!in_entropy_data(file, length)) continue;
    SCOPED_TRACE(length);
    ++expected;
    compared += compare(ByteSpan(bytes).first(length)) ? 1 : 0;
  }
  EXPECT_EQ(compared, expected);
  EXPECT_GT(compared, 50u);
}

/// Changes up to three bytes of entropy-coded data; half of the changes make a restart marker, none
/// another marker.
std::vector<std::uint8_t> damage(const std::vector<std::uint8_t>& bytes, const jpeg::JpegFile& file,
                                 std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> out = bytes;
  for (std::uint32_t left = 1 + seed % 3; left > 0;) {
    const std::size_t at = random() % (bytes.size() - 2);
    if (!in_entropy_data(file, at) || !in_entropy_data(file, at + 2)) continue;
    if (at == 0 || out[at - 1] == 0xFF) continue;
    --left;
    out[at] = static_cast<std::uint8_t>(random() % 0xFF);
    if (random() % 2 == 0) {
      out[at] = 0xFF;
      out[at + 1] = static_cast<std::uint8_t>(0xD0 + random() % 8);
    }
  }
  return out;
}

TEST_P(Salvage, DamagedEntropyDataGivesLibjpegsCoefficients) {
  const auto bytes = make_jpeg(GetParam());
  const auto file = parse_or_die(bytes);
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    compared += compare(damage(bytes, file, seed)) ? 1 : 0;
  }
  EXPECT_EQ(compared, 300);
}

INSTANTIATE_TEST_SUITE_P(Matrix, Salvage, testing::ValuesIn(truncated_cases()),
                         [](const testing::TestParamInfo<Case>& cell) {
                           return case_name(cell.param);
                         });

TEST(Undecoded, RegionsAreMidGrey) {
  const Case c{layout("420"), coding("baseline"), 64, 64, 75, 0, 1};
  const auto bytes = make_jpeg(c);
  const auto file = parse_or_die(bytes);
  const std::size_t cut = file.scans[0].entropy_offset + file.scans[0].entropy_bytes / 2;
  for (const CodecEntry& entry : all_codecs()) {
    SCOPED_TRACE(entry.name);
    const Attempt a = attempt(*entry.make(), ByteSpan(bytes).first(cut));
    ASSERT_FALSE(a.error);
    for (const codec::Plane& plane : a.planes.planes) {
      const std::size_t row = static_cast<std::size_t>(plane.width_px) *
                              static_cast<std::size_t>(plane.height_px * 3 / 4);
      EXPECT_TRUE(std::all_of(plane.samples.begin() + static_cast<std::ptrdiff_t>(row),
                              plane.samples.end(), [](std::uint8_t s) { return s == 128; }));
      EXPECT_FALSE(std::all_of(plane.samples.begin(), plane.samples.end(),
                               [](std::uint8_t s) { return s == 128; }));
    }
  }
}

}  // namespace
}  // namespace framewire::conformance
