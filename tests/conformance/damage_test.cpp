// What all ways to decode say of damaged and of odd files: the same, and strict refuses just what
// is warned of.
#include <gtest/gtest.h>
#include <algorithm>
#include <base/checked.hpp>
#include <codec/turbo/coefficient_reader.hpp>
#include <codec/turbo/region_decoder.hpp>
#include <codec/turbo/scan_pipeline.hpp>
#include <codec/turbo/stages.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <functional>
#include <jpeg/parser.hpp>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/damage_cases.hpp>
#include <tests/support/helping_threads.hpp>

namespace framewire::conformance {
namespace {

using codec::CodecOutcome;
using codec::Context;
using codec::SampleRegion;
using plan::Scales;

/// What one way to decode says of a file; equal ones print as equal.
struct DamageReport {
  std::string error;
  std::vector<std::string> warnings;
  friend bool operator==(const DamageReport&, const DamageReport&) = default;
};

void PrintTo(const DamageReport& report, std::ostream* out) {
  *out << "error '" << report.error << "', warnings " << testing::PrintToString(report.warnings);
}

template <typename T>
DamageReport report_of(const Result<T>& result, const CodecOutcome& outcome) {
  if (!result) return {result.error().to_string(), {}};
  DamageReport made;
  for (const Warning& warning : outcome.warnings) {
    made.warnings.push_back(std::string(to_string(warning.kind)) + ": " + warning.message);
  }
  return made;
}

/// Takes rows and keeps none.
class NullRegionSink final : public codec::RegionSink {
 public:
  void begin() override {}
  void rows(int, std::int32_t, std::span<const std::uint8_t* const>) override {}
  void end_band() override {}
};

plan::Plan plan_for(const jpeg::JpegFile& file, const ResizeOptions& options) {
  auto plan = plan::make_plan(file, options, plan::Capabilities{}, false);
  EXPECT_TRUE(plan);
  return *plan;
}

const codec::TurboStages& stages() {
  static const codec::TurboStages made;
  return made;
}

DamageReport decode(const jpeg::JpegFile& file, const Context& context, const Scales& scales) {
  CodecOutcome outcome;
  return report_of(stages().codec().decode(file, scales, context, outcome), outcome);
}

DamageReport transcode(const jpeg::JpegFile& file, const Context& context,
                       const ResizeOptions& options) {
  CodecOutcome outcome;
  std::vector<std::uint8_t> out;
  return report_of(stages().codec().transcode(file, plan_for(file, options), context, out, outcome),
                   outcome);
}

DamageReport decode_stage(const jpeg::JpegFile& file, const Context& context,
                          const ResizeOptions& options) {
  const plan::Plan plan = plan_for(file, options);
  std::vector<std::vector<std::uint8_t>> memory;
  std::vector<codec::PlaneView> views;
  for (const auto& [width, height] : codec::decoded_sizes(file, plan)) {
    memory.emplace_back(static_cast<std::size_t>(width) * height);
    views.push_back({memory.back().data(), width, height});
  }
  CodecOutcome outcome;
  return report_of(stages().decode(file, plan, context, views, outcome), outcome);
}

/// @param rows  of the picture, from its top; 0: all
DamageReport decode_region(const jpeg::JpegFile& file, const Context& context, int scale,
                           int rows) {
  std::vector<SampleRegion> regions;
  for (int i = 0; i < file.frame.component_count; ++i) {
    const jpeg::Component& c = file.frame.components[static_cast<std::size_t>(i)];
    const std::int32_t height = base::ceil_div(c.height_px * scale, 8);
    regions.push_back(
        {0, 0, base::ceil_div(c.width_px * scale, 8), rows == 0 ? height : std::min(rows, height)});
  }
  NullRegionSink sink;
  CodecOutcome outcome;
  return report_of(
      codec::decode_regions(file, {scale, scale, scale, scale}, regions, context, sink, outcome),
      outcome);
}

DamageReport read(const jpeg::JpegFile& file, const Context& context) {
  CodecOutcome outcome;
  return report_of(codec::read_coefficients(file, context, outcome), outcome);
}

struct DecodingWay {
  const char* name;
  std::function<DamageReport(const jpeg::JpegFile&, const Context&)> run;
};

ResizeOptions quarter() {
  ResizeOptions options;
  options.width_px = 32;
  return options;
}

/// Each way to decode all of a picture.
const std::vector<DecodingWay>& all_ways() {
  using File = jpeg::JpegFile;
  static test::HelpingThreads threads(3);
  static const auto helped = [](Context context) {
    context.helpers = &threads;
    return context;
  };
  static const std::vector<DecodingWay> ways = {
      {"decode()", [](const File& f, const Context& c) { return decode(f, c, plan::kFullScale); }},
      {"decode() at 1/4",
       [](const File& f, const Context& c) {
         return decode(f, c, {2, 2, 2, 2});
       }},
      {"decode() at scales of their own",
       [](const File& f, const Context& c) {
         return decode(f, c, {4, 8, 8, 1});
       }},
      {"decode() by several threads",
       [](const File& f, const Context& c) { return decode(f, helped(c), plan::kFullScale); }},
      {"transcode()", [](const File& f, const Context& c) { return transcode(f, c, {}); }},
      {"transcode() to a quarter",
       [](const File& f, const Context& c) { return transcode(f, c, quarter()); }},
      {"stages", [](const File& f, const Context& c) { return decode_stage(f, c, quarter()); }},
      {"regions", [](const File& f, const Context& c) { return decode_region(f, c, 8, 0); }},
      {"regions at 1/2", [](const File& f, const Context& c) { return decode_region(f, c, 4, 0); }},
      {"read_coefficients()", [](const File& f, const Context& c) { return read(f, c); }},
      {"read_coefficients() by several threads",
       [](const File& f, const Context& c) { return read(f, helped(c)); }}};
  return ways;
}

Context strictness(bool strict) {
  Context context;
  context.strict = strict;
  return context;
}

/// Runs a file through all ways. @return what all of them say, not being strict
DamageReport expect_one_answer(const jpeg::JpegFile& file) {
  const DecodingWay& first = all_ways().front();
  const DamageReport lenient = first.run(file, strictness(false));
  const DamageReport strict = first.run(file, strictness(true));
  EXPECT_EQ(lenient.error.empty() && lenient.warnings.empty(), strict.error.empty())
      << "strict says '" << strict.error << "'";
  for (const DecodingWay& way : all_ways()) {
    EXPECT_EQ(way.run(file, strictness(false)), lenient) << way.name;
    EXPECT_EQ(way.run(file, strictness(true)), strict) << "strict, " << way.name;
  }
  return lenient;
}

bool gives_libjpegs_samples(const jpeg::JpegFile& file) {
  static const auto libjpeg = codec::make_turbo_codec_with(codec::turbo::EntropyDecoder::kLibjpeg);
  CodecOutcome outcome;
  const auto ours = stages().codec().decode(file, plan::kFullScale, {}, outcome);
  const auto theirs = libjpeg->decode(file, plan::kFullScale, {}, outcome);
  return ours && theirs &&
         std::ranges::equal(ours->planes, theirs->planes, {}, &codec::Plane::samples,
                            &codec::Plane::samples);
}

TEST(Damage, IsToldAlikeByAllWaysToDecode) {
  bool several_threads = false;
  for (const DamageCase& c : all_damage_cases()) {
    SCOPED_TRACE(c.name);
    const auto file = parse_or_die(c.bytes);
    several_threads = several_threads || codec::turbo::ScanPipeline::pays_for(file);
    const DamageReport said = expect_one_answer(file);
    EXPECT_EQ(said.error, "");
    if (!c.expected) {
      EXPECT_EQ(said.warnings, std::vector<std::string>());
      EXPECT_TRUE(gives_libjpegs_samples(file));
    } else if (!file.truncated) {
      const std::string kind(to_string(*c.expected));
      EXPECT_TRUE(std::any_of(said.warnings.begin(), said.warnings.end(), [&](const auto& warning) {
        return warning.starts_with(kind);
      })) << testing::PrintToString(said.warnings);
    }
  }
  EXPECT_TRUE(several_threads);
}

TEST(Damage, OfOneBitIsToldAlikeByAllWays) {
  int told = 0;
  int decoded = 0;
  for (const DamageCase& c : flipped_bits(40)) {
    SCOPED_TRACE(c.name);
    const auto file = jpeg::parse(c.bytes, Limits{});
    if (!file || !jpeg::check_supported(*file)) continue;
    const DamageReport said = expect_one_answer(*file);
    ++decoded;
    told += said.error.empty() && said.warnings.empty() ? 0 : 1;
  }
  RecordProperty("decoded", decoded);
  RecordProperty("told", told);
  // Most flipped bits leave data that an encoder might have written, soon or to its end.
  EXPECT_GT(told, decoded / 3) << decoded;
}

/// Of a sequential file with one scan, rows below those in use are not read unless with strict.
TEST(Damage, BelowThePartInUseIsToldOfFilesOfSeveralScans) {
  for (const char* of_coding : {"baseline", "separate_scans", "progressive"}) {
    const auto sound = make_jpeg({layout("420"), coding(of_coding), 160, 320, 90, 0, 1});
    const jpeg::Scan scan = parse_or_die(sound).scans.front();
    std::vector<std::uint8_t> code = sound;
    auto at = static_cast<std::ptrdiff_t>(scan.entropy_offset + scan.entropy_bytes * 3 / 4);
    while (code[static_cast<std::size_t>(at)] == 0xFF) ++at;
    const std::uint8_t ones[] = {0x7F, 0xFF, 0, 0xFF, 0, 0xFF, 0, 0xFF, 0};
    code.insert(code.begin() + at, std::begin(ones), std::end(ones));
    std::vector<std::uint8_t> leftover = sound;
    const auto end = static_cast<std::ptrdiff_t>(scan.entropy_offset + scan.entropy_bytes);
    leftover.insert(leftover.begin() + end, 20, 0x5A);
    ResizeOptions top;
    top.crop_height = 64;
    top.gravity.anchor = Gravity::Anchor::kNo;
    for (const auto& bytes : {code, leftover}) {
      SCOPED_TRACE(of_coding);
      const auto file = parse_or_die(bytes);
      const DamageReport said = transcode(file, strictness(false), top);
      EXPECT_EQ(said.warnings.empty(), file.scans.size() == 1);
      EXPECT_EQ(decode_stage(file, strictness(false), top), said);
      EXPECT_EQ(decode_region(file, strictness(false), 8, 32), said);
      const DamageReport refused = transcode(file, strictness(true), top);
      EXPECT_NE(refused.error, "");
      EXPECT_EQ(decode_stage(file, strictness(true), top), refused);
      EXPECT_EQ(decode_region(file, strictness(true), 8, 32), refused);
      EXPECT_EQ(read(file, strictness(true)), refused);
    }
  }
}

}  // namespace
}  // namespace framewire::conformance
