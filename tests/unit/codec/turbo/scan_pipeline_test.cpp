// Progressive files with and without threads that help: the same coefficients, planes, warnings and
// errors, however many come, whenever they come and go.
#include <gtest/gtest.h>
#include <codec/turbo/coefficient_reader.hpp>
#include <codec/turbo/scan_pipeline.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <jpeg/parser.hpp>
#include <random>
#include <tests/service/support/failing_memory.hpp>
#include <tests/support/helping_threads.hpp>
#include <tests/support/sample_jpeg.hpp>

namespace framewire::codec::turbo {
namespace {

using framewire::test::HelpingThreads;
using sample::Bytes;
using Script = std::vector<jpeg_scan_info>;

/// Noise of several strengths, so that coefficients of every frequency and size occur.
double noise(int component, double x, double y) {
  const auto cell = static_cast<std::uint32_t>(x) * 2654435761u ^
                    static_cast<std::uint32_t>(y) * 40503u ^
                    static_cast<std::uint32_t>(component) * 97u;
  const std::uint32_t mixed = (cell ^ cell >> 13) * 2246822519u;
  const int strength = 1 + (static_cast<int>(x) / 64 + static_cast<int>(y) / 48) % 4 * 40;
  return 100 + static_cast<int>(y) % 50 + static_cast<double>(mixed >> 16 & 0xFF) * strength / 256;
}

/// A legal script: every coefficient's bits in order, all else by chance.
Script random_script(std::mt19937& random, int components) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Script> parts;
  const auto add_part = [&](const std::vector<int>& of, int first, int last) {
    Script part;
    const int lowest = below(3);
    for (int low = lowest, high = 0; low >= 0; high = low, --low) {
      jpeg_scan_info scan{static_cast<int>(of.size()), {}, first, last, high, low};
      std::copy(of.begin(), of.end(), std::begin(scan.component_index));
      part.push_back(scan);
    }
    parts.push_back(part);
  };
  if (components == 3 && below(2) == 0) {
    add_part({0, 1, 2}, 0, 0);
  } else {
    for (int c = 0; c < components; ++c) add_part({c}, 0, 0);
  }
  const std::size_t dc_parts = parts.size();
  for (int c = 0; c < components; ++c) {
    for (int first = 1; first < 64;) {
      const int last = below(2) == 0 ? 63 : std::min(63, first + below(30));
      add_part({c}, first, last);
      first = last + 1;
    }
  }
  // AC of a component needs its DC first; refinements come whenever their scan before has come.
  Script script;
  for (std::size_t i = 0; i < dc_parts; ++i) {
    script.push_back(parts[i].front());
    parts[i].erase(parts[i].begin());
  }
  for (;;) {
    std::erase_if(parts, [](const Script& part) { return part.empty(); });
    if (parts.empty()) return script;
    Script& part = parts[random() % parts.size()];
    script.push_back(part.front());
    part.erase(part.begin());
  }
}

Bytes make_file(const Script& script, int components, int sampling, int restart_mcus = 0) {
  sample::Spec spec;
  spec.width_px = 451;
  spec.height_px = 333;
  spec.space = components == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
  spec.h = spec.v = sampling;
  spec.quality = 92;
  spec.progressive = true;
  spec.restart_mcus = restart_mcus;
  spec.script = script;
  return sample::make(spec, noise);
}

Bytes usual_file() {
  static const Bytes bytes = make_file({}, 3, 2);
  return bytes;
}

/// What became of a file.
struct Made {
  std::string error;
  std::vector<std::string> warnings;
  std::vector<std::vector<std::int16_t>> coefficients;
  std::vector<std::vector<std::uint8_t>> samples;
  friend bool operator==(const Made&, const Made&) = default;
};

Made make(const jpeg::JpegFile& file, Helpers* helpers) {
  static const auto codec = make_turbo_codec();
  Context context;
  context.helpers = helpers;
  Made made;
  CodecOutcome outcome;
  const auto coefficients = read_coefficients(file, context, outcome);
  const auto planes = codec->decode(file, {4, 4, 4, 4}, context, outcome);
  for (const Warning& warning : outcome.warnings) made.warnings.push_back(warning.message);
  if (!coefficients || !planes) {
    made.error = (coefficients ? planes.error() : coefficients.error()).to_string();
    return made;
  }
  for (const auto& plane : coefficients->components) {
    made.coefficients.emplace_back(plane.coefficients.begin(), plane.coefficients.end());
  }
  for (const Plane& plane : planes->planes) made.samples.push_back(plane.samples);
  return made;
}

TEST(ScanPipeline, GivesWhatOneThreadGivesForAnyScript) {
  std::mt19937 random(11);
  for (int turn = 0; turn < 48; ++turn) {
    SCOPED_TRACE(turn);
    const int components = turn % 4 == 0 ? 1 : 3;
    Script script = turn < 4 ? Script{} : random_script(random, components);
    const Bytes bytes = make_file(script, components, 1 + turn % 2, turn % 3 == 0 ? 5 : 0);
    const auto file = jpeg::parse(bytes, Limits{});
    ASSERT_TRUE(file);
    const bool helped = ScanPipeline::pays_for(*file);
    EXPECT_EQ(helped, file->scans.size() <= 32);
    HelpingThreads helpers(1 + static_cast<std::size_t>(turn) % 8);
    ASSERT_TRUE(make(*file, &helpers) == make(*file, nullptr));
    EXPECT_EQ(helpers.invited() > 0, helped);
  }
}

TEST(ScanPipeline, LeavesSmallFilesToOneThread) {
  sample::Spec spec;
  spec.progressive = true;
  const Bytes bytes = sample::make(spec, noise);
  const auto file = jpeg::parse(bytes, Limits{});
  ASSERT_TRUE(file);
  HelpingThreads helpers(2);
  EXPECT_TRUE(make(*file, &helpers) == make(*file, nullptr));
  EXPECT_EQ(helpers.invited(), 0u);
}

TEST(ScanPipeline, HelpersMayLeaveAtAnyMoment) {
  const Bytes bytes = usual_file();
  const auto file = jpeg::parse(bytes, Limits{});
  ASSERT_TRUE(file);
  const Made expected = make(*file, nullptr);
  for (unsigned after = 0; after < 60; after += 3) {
    std::atomic<unsigned> asked{0};
    HelpingThreads helpers(3, [&] { return ++asked > after; });
    ASSERT_TRUE(make(*file, &helpers) == expected) << after;
  }
}

/// Threads that are promised, and come never.
class StarvedHelpers final : public Helpers {
 public:
  std::size_t idle() const noexcept override { return 3; }
  void invite(SharedWork& /*work*/, std::size_t most) noexcept override { invited += most; }
  void dismiss(SharedWork& /*work*/) noexcept override {}
  bool wanted_elsewhere() const noexcept override { return true; }
  std::size_t invited = 0;
};

TEST(ScanPipeline, NeedsNoHelp) {
  const Bytes bytes = usual_file();
  const auto file = jpeg::parse(bytes, Limits{});
  ASSERT_TRUE(file);
  StarvedHelpers helpers;
  EXPECT_TRUE(make(*file, &helpers) == make(*file, nullptr));
  EXPECT_GT(helpers.invited, 0u);
}

TEST(ScanPipelineAttack, DamageIsLibjpegsWithHelpersToo) {
  const Bytes bytes = usual_file();
  const auto whole = jpeg::parse(bytes, Limits{});
  ASSERT_TRUE(whole);
  std::mt19937 random(4);
  HelpingThreads helpers(3);
  int compared = 0;
  for (int turn = 0; turn < 60; ++turn) {
    SCOPED_TRACE(turn);
    const jpeg::Scan& scan = whole->scans[random() % whole->scans.size()];
    const std::size_t at = scan.entropy_offset + random() % scan.entropy_bytes;
    Bytes changed = bytes;
    if (turn % 2 == 0) {
      changed[at] ^= static_cast<std::uint8_t>(1u << random() % 8);
    } else {
      changed.resize(at);
      changed.insert(changed.end(), {0xFF, 0xD9});
    }
    const auto file = jpeg::parse(changed, Limits{});
    if (!file) continue;
    ASSERT_TRUE(make(*file, &helpers) == make(*file, nullptr));
    ++compared;
  }
  EXPECT_GT(compared, 40);
  // They may all have come too late, each time.
  for (int turn = 0; turn < 1000 && helpers.came() == 0; ++turn) (void)make(*whole, &helpers);
  EXPECT_GT(helpers.came(), 0u);
}

/// Threads that come, to a thread whose time is over by then.
class HelpersUntil final : public Helpers {
 public:
  explicit HelpersUntil(base::Deadline deadline) : deadline_(deadline) {}
  std::size_t idle() const noexcept override { return threads_.idle(); }
  void invite(SharedWork& work, std::size_t most) noexcept override {
    invited_ = true;
    threads_.invite(work, most);
    while (!deadline_.passed()) std::this_thread::yield();
  }
  void dismiss(SharedWork& work) noexcept override { threads_.dismiss(work); }
  bool wanted_elsewhere() const noexcept override { return false; }
  bool invited() const noexcept { return invited_; }

 private:
  base::Deadline deadline_;
  bool invited_ = false;
  HelpingThreads threads_{2};
};

TEST(ScanPipeline, TheDeadlineHoldsInTheMiddle) {
  const Bytes bytes = usual_file();
  const auto file = jpeg::parse(bytes, Limits{});
  ASSERT_TRUE(file);
  for (int turn = 0; turn < 5; ++turn) {
    Context context;
    context.deadline = base::Deadline(100);
    HelpersUntil helpers(context.deadline);
    context.helpers = &helpers;
    CodecOutcome outcome;
    const auto made = make_turbo_codec()->decode(*file, plan::kFullScale, context, outcome);
    ASSERT_FALSE(made);
    ASSERT_EQ(made.error().code(), StatusCode::kDeadline);
    ASSERT_TRUE(helpers.invited());
  }
}

TEST(ScanPipelineAttack, MemoryThatRunsOutEndsInBusyAndLeavesNobodyInside) {
  const Bytes bytes = usual_file();
  const auto file = jpeg::parse(bytes, Limits{});
  ASSERT_TRUE(file);
  HelpingThreads helpers(2);
  Context context;
  context.helpers = &helpers;
  int failures = 0;
  for (long n = 1;; ++n) {
    ASSERT_LT(n, 3000);
    CodecOutcome outcome;
    const service::test::FailingMemory memory(n);
    const auto made = read_coefficients(*file, context, outcome);
    if (!memory.failed()) {
      EXPECT_TRUE(made);
      break;
    }
    if (!made) {
      EXPECT_EQ(made.error().code(), StatusCode::kBusy) << n;
      ++failures;
    }
  }
  EXPECT_GT(failures, 20);
}

}  // namespace
}  // namespace framewire::codec::turbo
