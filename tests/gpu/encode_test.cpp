// Streams with Huffman codes of their own, and streams under a bound on their bytes.
#include <algorithm>
#include <array>
#include <codec/cuda/encode/block_coder.hpp>
#include <codec/cuda/zigzag.hpp>
#include <codec/reference/encoder.hpp>
#include <jpeg/huffman.hpp>
#include <tests/conformance/cases.hpp>
#include <tests/gpu/jobs.hpp>
#include <tests/support/sample_jpeg.hpp>

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

/// Each block has noise of a strength of its own: at quality 100 blocks of all numbers of bits, up
/// to some 800, lie side by side.
Bytes uneven_picture(J_COLOR_SPACE space) {
  sample::Spec spec;
  spec.width_px = 395;
  spec.height_px = 203;
  spec.space = space;
  spec.quality = 100;
  return sample::make(spec, [](int component, double x, double y) {
    const auto column = static_cast<std::uint32_t>(x);
    const auto row = static_cast<std::uint32_t>(y);
    const double strength = (column / 8 * 37 + row / 8 * 61) % 64 / 63.0;
    std::uint32_t hash = column * 73856093u + row * 19349663u;
    hash += static_cast<std::uint32_t>(component) * 131u;
    hash = (hash ^ hash >> 13) * 0x5bd1e995u;
    hash ^= hash >> 15;
    return 128 + 250 * strength * strength * strength * (hash % 256 / 255.0 - 0.5);
  });
}

/// Bits that each block of a gray stream without restart markers takes with the standard codes.
std::vector<std::uint32_t> bits_of_blocks(std::span<const std::uint8_t> stream) {
  std::array<std::uint32_t, 512> codes{};
  for (const auto table_class : {jpeg::TableClass::kDc, jpeg::TableClass::kAc}) {
    const auto table = jpeg::make_encode_table(jpeg::standard_huffman_table(table_class, 0));
    const std::size_t first = table_class == jpeg::TableClass::kAc ? 256 : 0;
    for (std::size_t i = 0; i < 256; ++i) {
      codes[first + i] = static_cast<std::uint32_t>(table.length[i]) << 16 | table.code[i];
    }
  }
  struct Counter {
    std::uint32_t bits = 0;
    void put(std::uint32_t /*code*/, std::uint32_t count) { bits += count; }
  };
  std::vector<std::uint32_t> all;
  const auto levels = conformance::libjpeg_coefficients(stream);
  if (!levels) return all;
  std::int32_t before = 0;
  for (const auto& natural : levels->components.at(0).blocks) {
    std::array<std::int16_t, 64> block{};
    std::uint64_t mask = 0;
    for (std::uint32_t k = 0; k < 64; ++k) {
      block[k] = natural[codec::cuda::natural_position(k)];
      if (block[k] != 0) mask |= std::uint64_t{1} << k;
    }
    Counter counter;
    codec::cuda::code_block(block.data(), mask, block[0] - before, codes.data(), counter);
    before = block[0];
    all.push_back(counter.bits);
  }
  return all;
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

// Of a block so many bits are kept until their place is known; one with more is coded again.
TEST_F(GpuEncode, BlocksOfFewBitsAndOfManyLieSideBySide) {
  constexpr std::uint32_t kKept = 256;
  Jobs jobs;
  for (const Sampling sampling : {Sampling::kGray, Sampling::k444, Sampling::k420}) {
    const Bytes picture = uneven_picture(sampling == Sampling::kGray ? JCS_GRAYSCALE : JCS_YCbCr);
    for (const int quality : {50, 100}) {
      for (const int interval : {0, 7}) {
        for (const bool optimize : {false, true}) {
          ResizeOptions options = with_quality(395, 203, quality);
          options.sampling = sampling;
          options.restart_interval_mcus = interval;
          options.optimize_huffman = optimize;
          jobs.push_back(
              std::make_unique<Job>("sampling " + std::to_string(static_cast<int>(sampling)) +
                                        " q" + std::to_string(quality) + " by " +
                                        std::to_string(interval) + (optimize ? " own codes" : ""),
                                    picture, options));
        }
      }
    }
  }
  const auto transcoder = run_batch(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    SCOPED_TRACE(jobs[i]->name());
    const auto result = transcoder.result(i);
    ASSERT_EQ(result.status, 0u);
    EXPECT_TRUE(Bytes(result.bytes.begin(), result.bytes.end()) ==
                written_by_reference(*jobs[i], result.bytes));
    const plan::EncodePlan& encode = jobs[i]->plan().encode;
    if (encode.component_count != 1 || encode.quality != 100) continue;
    if (encode.optimize_huffman || encode.restart_interval_mcus != 0) continue;
    const auto bits = bits_of_blocks(result.bytes);
    const auto count = [&](std::uint32_t least, std::uint32_t most) {
      return std::count_if(bits.begin(), bits.end(),
                           [&](std::uint32_t b) { return b >= least && b <= most; });
    };
    EXPECT_GT(count(0, kKept - 32), 200);
    EXPECT_GT(count(kKept - 31, kKept), 20) << "the last word kept";
    EXPECT_GT(count(kKept + 1, kKept + 32), 20) << "the first word that is not";
    EXPECT_GT(count(kKept + 33, UINT32_MAX), 400);
  }
}

// A search codes a stream again and again, with fewer bits in each block, where the stream before
// it lies.
TEST_F(GpuEncode, SearchesLeaveNothingOfEarlierRounds) {
  Jobs bounded, at_quality;
  for (const bool optimize : {false, true}) {
    for (const std::uint64_t bound : {2000u, 12'000u, 30'000u, 50'000u}) {
      ResizeOptions options = with_quality(395, 203, 100);
      options.sampling = Sampling::k420;
      options.optimize_huffman = optimize;
      options.max_bytes = bound;
      bounded.push_back(
          std::make_unique<Job>("in " + std::to_string(bound), uneven_picture(JCS_YCbCr), options));
    }
  }
  const auto found = run_batch(bounded);
  for (std::size_t i = 0; i < bounded.size(); ++i) {
    ASSERT_EQ(found.result(i).status, 0u) << bounded[i]->name();
    ResizeOptions options = with_quality(395, 203, found.result(i).quality);
    options.sampling = Sampling::k420;
    options.optimize_huffman = bounded[i]->plan().encode.optimize_huffman;
    at_quality.push_back(
        std::make_unique<Job>(bounded[i]->name(), uneven_picture(JCS_YCbCr), options));
  }
  const auto same = run_batch(at_quality);
  for (std::size_t i = 0; i < bounded.size(); ++i) {
    const auto result = found.result(i).bytes;
    const auto expected = same.result(i).bytes;
    ASSERT_EQ(same.result(i).status, 0u) << bounded[i]->name();
    EXPECT_LT(found.result(i).quality, 100) << bounded[i]->name();
    EXPECT_TRUE(std::equal(result.begin(), result.end(), expected.begin(), expected.end()))
        << bounded[i]->name();
    EXPECT_TRUE(Bytes(result.begin(), result.end()) == written_by_reference(*at_quality[i], result))
        << bounded[i]->name();
  }
}

// The warps that pack streams have a part of one, one or several each.
TEST_F(GpuEncode, AnyNumberOfStreamsIsPackedOneBehindTheOther) {
  for (const int count : {1, 2, 3, 16, 17, 31, 32, 33, 65, 200}) {
    SCOPED_TRACE(count);
    Jobs jobs;
    for (int i = 0; i < count; ++i) {
      jobs.push_back(
          std::make_unique<Job>(std::to_string(i), picture(i % 2 == 0 ? "gray" : "420", 97, 53),
                                with_quality(1 + i * 7 % 90, 1 + i * 5 % 50, 1 + i * 13 % 100)));
    }
    const auto transcoder = run_batch(jobs);
    const std::uint8_t* next = transcoder.result(0).bytes.data();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto result = transcoder.result(i);
      ASSERT_EQ(result.status, 0u) << i;
      EXPECT_EQ(result.bytes.data(), next) << i;
      next = result.bytes.data() + (result.bytes.size() + 15) / 16 * 16;
      EXPECT_TRUE(Bytes(result.bytes.begin(), result.bytes.end()) ==
                  written_by_reference(*jobs[i], result.bytes))
          << i;
    }
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
