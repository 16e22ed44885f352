// Streams with Huffman codes of their own, and streams under a bound on their bytes.
#include <algorithm>
#include <codec/reference/encoder.hpp>
#include <tests/conformance/cases.hpp>
#include <tests/gpu/jobs.hpp>

namespace framewire::gpu_tests {
namespace {

using conformance::Case;
using Bytes = std::vector<std::uint8_t>;

Bytes picture(const std::string& layout, int width = 250, int height = 131) {
  return conformance::make_jpeg(
      Case{conformance::layout(layout), conformance::coding("baseline"), width, height, 90, 0, 4});
}

ResizeOptions with_quality(std::int32_t width, std::int32_t height, int quality) {
  ResizeOptions o;
  o.width_px = width;
  o.height_px = height;
  o.resize = ResizeMode::kForce;
  o.quality = quality;
  return o;
}

/// Blocks behind the picture carry the DC level before them and nothing else.
void expect_cheap_filling(const conformance::LibjpegBlocks& of, const std::string& name) {
  for (std::int32_t y = 0; y < of.stored_height_blocks; ++y) {
    for (std::int32_t x = 0; x < of.stored_width_blocks; ++x) {
      if (x < of.width_blocks && y < of.height_blocks) continue;
      const auto& block =
          of.blocks[static_cast<std::size_t>(y) * static_cast<std::size_t>(of.stored_width_blocks) +
                    static_cast<std::size_t>(x)];
      EXPECT_TRUE(std::all_of(block.begin() + 1, block.end(), [](int v) { return v == 0; }))
          << name << " block " << x << "," << y;
    }
  }
}

/// What the reference writes for the levels that a stream carries.
Bytes written_by_reference(const Job& job, std::span<const std::uint8_t> stream) {
  const auto levels = conformance::libjpeg_coefficients(stream);
  EXPECT_TRUE(levels && levels->warning_count == 0) << job.name();
  if (!levels) return {};
  codec::reference::PaddedCoefficients coefficients;
  for (const auto& from : levels->components) {
    const bool alone = levels->components.size() == 1;
    if (!alone) expect_cheap_filling(from, job.name());
    codec::reference::ComponentBlocks to;
    to.width_blocks = alone ? from.width_blocks : from.stored_width_blocks;
    to.height_blocks = alone ? from.height_blocks : from.stored_height_blocks;
    for (std::int32_t y = 0; y < to.height_blocks; ++y) {
      for (std::int32_t x = 0; x < to.width_blocks; ++x) {
        to.blocks.push_back(from.blocks[static_cast<std::size_t>(y) *
                                            static_cast<std::size_t>(from.stored_width_blocks) +
                                        static_cast<std::size_t>(x)]);
      }
    }
    coefficients.components.push_back(std::move(to));
  }
  Bytes out{0xFF, 0xD8};
  codec::reference::write_stream(coefficients, job.plan().encode, job.plan().encode.quality, out);
  return out;
}

class GpuEncode : public GpuTest {};

TEST_F(GpuEncode, OwnCodesAreTheHostsForTheSameLevels) {
  Jobs jobs;
  for (const char* layout : {"gray", "420", "444", "cmyk"}) {
    for (const int quality : {1, 30, 75, 100}) {
      for (const int interval : {0, 3}) {
        for (const auto& [width, height] : {std::pair{200, 100}, {17, 9}, {1, 1}}) {
          ResizeOptions options = with_quality(width, height, quality);
          options.optimize_huffman = true;
          options.restart_interval_mcus = interval;
          options.color = ColorMode::kKeep;
          jobs.push_back(std::make_unique<Job>(
              std::string(layout) + " q" + std::to_string(quality) + " at " + std::to_string(width),
              picture(layout), options));
          options.optimize_huffman = false;
          jobs.push_back(std::make_unique<Job>("standard codes", picture(layout), options));
        }
      }
    }
  }
  const auto transcoder = run_batch(jobs);
  for (std::size_t i = 0; i < jobs.size(); i += 2) {
    const auto own = transcoder.result(i);
    const auto standard = transcoder.result(i + 1);
    ASSERT_EQ(own.status | standard.status, 0u) << jobs[i]->name();
    EXPECT_EQ(Bytes(own.bytes.begin(), own.bytes.end()), written_by_reference(*jobs[i], own.bytes))
        << jobs[i]->name();
    EXPECT_EQ(Bytes(standard.bytes.begin(), standard.bytes.end()),
              written_by_reference(*jobs[i + 1], standard.bytes))
        << jobs[i + 1]->name();
    EXPECT_LT(own.bytes.size(), standard.bytes.size()) << jobs[i]->name();
  }
}

TEST_F(GpuEncode, LongStreamsOfSmallBatchesAreStuffedInParts) {
  Jobs jobs;
  for (const char* layout : {"gray", "420"}) {
    for (const int interval : {0, 3}) {
      ResizeOptions options = with_quality(500, 262, 100);
      options.enlarge = true;
      options.restart_interval_mcus = interval;
      jobs.push_back(std::make_unique<Job>(std::string(layout) + " by " + std::to_string(interval),
                                           picture(layout), options));
    }
  }
  const auto transcoder = run_batch(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto result = transcoder.result(i);
    ASSERT_EQ(result.status, 0u) << jobs[i]->name();
    EXPECT_GT(result.bytes.size(), 40'000u) << "some ten parts";
    EXPECT_EQ(Bytes(result.bytes.begin(), result.bytes.end()),
              written_by_reference(*jobs[i], result.bytes))
        << jobs[i]->name();
  }
}

TEST_F(GpuEncode, BoundsAreMetAtTheHighestQuality) {
  constexpr int kPlanned = 92;
  for (const bool optimize : {false, true}) {
    Jobs jobs;
    for (const char* layout : {"gray", "420", "rgb"}) {
      for (const std::uint64_t bound : {100u, 900u, 1500u, 2500u, 4000u, 6000u, 9000u, 90000u}) {
        ResizeOptions options = with_quality(200, 100, kPlanned);
        options.optimize_huffman = optimize;
        options.max_bytes = bound;
        jobs.push_back(std::make_unique<Job>(std::string(layout) + " in " + std::to_string(bound),
                                             picture(layout), options));
      }
    }
    const auto bounded = run_batch(jobs);
    Jobs at_quality, above;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const int quality = bounded.result(i).quality;
      ASSERT_GE(quality, 1) << jobs[i]->name();
      for (Jobs* list : {&at_quality, &above}) {
        ResizeOptions options =
            with_quality(200, 100, std::min(kPlanned, quality + (list == &above ? 1 : 0)));
        options.optimize_huffman = optimize;
        list->push_back(std::make_unique<Job>(jobs[i]->name(),
                                              picture(i < 8    ? "gray"
                                                      : i < 16 ? "420"
                                                               : "rgb"),
                                              options));
      }
    }
    const auto same = run_batch(at_quality);
    const auto higher = run_batch(above);
    int lowered = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      SCOPED_TRACE(jobs[i]->name());
      const auto result = bounded.result(i);
      const std::uint64_t bound = jobs[i]->plan().encode.max_bytes;
      ASSERT_EQ(result.status, 0u);
      const auto expected = same.result(i).bytes;
      EXPECT_TRUE(
          std::equal(result.bytes.begin(), result.bytes.end(), expected.begin(), expected.end()));
      EXPECT_EQ(result.missed_max_bytes, result.bytes.size() > bound);
      if (result.missed_max_bytes) {
        EXPECT_EQ(result.quality, 1);
      }
      if (result.quality < kPlanned) {
        EXPECT_GT(higher.result(i).bytes.size(), bound);
        ++lowered;
      }
      codec::CodecOutcome cpu;
      (void)jobs[i]->run(*codec::make_turbo_codec(), cpu);
      EXPECT_NEAR(result.quality, cpu.quality, 1);
    }
    EXPECT_GT(lowered, 6);
  }
}

}  // namespace
}  // namespace framewire::gpu_tests
