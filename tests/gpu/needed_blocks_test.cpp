// Decoding of the blocks alone that an output is made of.
#include <gtest/gtest.h>
#include <base/checked.hpp>
#include <codec/cuda/decode/needed_blocks.hpp>
#include <codec/cuda/status_text.hpp>
#include <codec/cuda/transcoder.hpp>
#include <memory>
#include <random>
#include <tests/conformance/cases.hpp>
#include <tests/gpu/device_planes.hpp>
#include <tests/gpu/items.hpp>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::BlockRect;
using codec::cuda::Item;
using codec::cuda::Transcoder;

constexpr int kWidth = 427;
constexpr int kHeight = 333;

/// Samples of a plane, with its sides.
struct Plane {
  Bytes samples;
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
};

Plane fetch(const Transcoder& transcoder, std::size_t image, std::size_t component) {
  const DevicePlane plane = transcoder.plane(image, component);
  return {download(plane), plane.width_px, plane.height_px};
}

/// Samples of a component from pixel `from` to before pixel `to`, at a scale of eighths.
std::pair<std::int32_t, std::int32_t> samples_of(std::int32_t from, std::int32_t to, int h,
                                                 int h_max, int scale, std::int32_t size) {
  const std::int32_t first = from * h / h_max * scale / 8;
  const std::int32_t end = base::ceil_div(base::ceil_div(to * h, h_max) * scale, 8);
  return {first, std::min(end, size)};
}

void expect_same_part(const Plane& found, const Plane& whole, const jpeg::FrameHeader& frame,
                      std::size_t component, const Item& item) {
  ASSERT_EQ(found.width_px, whole.width_px);
  ASSERT_EQ(found.height_px, whole.height_px);
  const jpeg::Component& c = frame.components[component];
  const plan::Rect& part = item.needed_pixels;
  const int scale = item.scales[component];
  const auto [left, right] =
      samples_of(part.x, part.x + part.width, c.h, frame.h_max, scale, whole.width_px);
  const auto [top, bottom] =
      samples_of(part.y, part.y + part.height, c.v, frame.v_max, scale, whole.height_px);
  for (std::int32_t y = top; y < bottom; ++y) {
    for (std::int32_t x = left; x < right; ++x) {
      const auto at = static_cast<std::size_t>(y) * static_cast<std::size_t>(whole.width_px) +
                      static_cast<std::size_t>(x);
      ASSERT_EQ(found.samples[at], whole.samples[at]) << x << "," << y;
    }
  }
}

plan::Rect random_part(std::mt19937& random) {
  const auto below = [&](int most) { return static_cast<std::int32_t>(random() % most); };
  plan::Rect part;
  part.x = below(kWidth);
  part.y = below(kHeight);
  part.width = 1 + below(std::min(kWidth - part.x, 200));
  part.height = 1 + below(std::min(kHeight - part.y, 200));
  return part;
}

class NeededBlocks : public GpuTest {};

/// One file in a batch of its own: as a whole, and six times as a part.
void expect_parts_of_the_whole(const conformance::Case& c, int scale, std::mt19937& random) {
  SCOPED_TRACE(c.name() + " at " + std::to_string(scale));
  OwnedItem owned(conformance::make_jpeg(c), scale);
  std::vector<Item> items(7, owned.item);
  for (std::size_t i = 1; i < items.size(); ++i) items[i].needed_pixels = random_part(random);
  Transcoder transcoder = value_of(Transcoder::make());
  ASSERT_TRUE(transcoder.enqueue(items));
  ASSERT_TRUE(transcoder.wait());
  const jpeg::FrameHeader& frame = owned.item.file->frame;
  for (std::size_t k = 0; k < static_cast<std::size_t>(frame.component_count); ++k) {
    const Plane whole = fetch(transcoder, 0, k);
    for (std::size_t i = 1; i < items.size(); ++i) {
      ASSERT_EQ(codec::cuda::describe(transcoder.result(i).status), "");
      expect_same_part(fetch(transcoder, i, k), whole, frame, k, items[i]);
    }
  }
}

TEST_F(NeededBlocks, AreThoseOfTheWhole) {
  std::mt19937 random(4);
  std::uint32_t seed = 0;
  for (const char* layout : {"gray", "444", "420", "422", "440", "411"}) {
    for (const char* coding : {"baseline", "separate_scans", "progressive"}) {
      for (const int restart : {0, 1, 13}) {
        const conformance::Case c{conformance::layout(layout),
                                  conformance::coding(coding),
                                  kWidth,
                                  kHeight,
                                  92,
                                  restart,
                                  ++seed};
        constexpr int kScales[] = {8, 4, 1, 5, 2, 6};
        expect_parts_of_the_whole(c, kScales[seed % std::size(kScales)], random);
      }
    }
  }
}

TEST_F(NeededBlocks, ReachAroundTheCrop) {
  sample::Spec spec;
  spec.width_px = 640;
  spec.height_px = 480;
  ResizeOptions options = resize_to(50, 40);
  options.crop_width = 100;
  options.crop_height = 80;
  const OwnedItem owned(draw(spec), options);
  const BlockRect luma = codec::cuda::needed_blocks(owned.item, 0);
  // The crop lies in the middle, (270, 200) to (370, 280), and is reduced by two, to which the
  // decoder brings nothing: the filter reaches six pixels beyond it.
  EXPECT_LE(luma.first_column, (270u - 6) / 8);
  EXPECT_GE(luma.end_column, (370u + 6 + 7) / 8);
  EXPECT_LE(luma.first_row, (200u - 6) / 8);
  EXPECT_GE(luma.end_row, (280u + 6 + 7) / 8);
  EXPECT_GE(luma.first_column, 28u);
  EXPECT_LE(luma.end_column, 52u);
  EXPECT_GE(luma.first_row, 20u);
  EXPECT_LE(luma.end_row, 40u);
}

/// What is said of files in whose data one bit is turned.
struct Verdicts {
  int damaged = 0;       ///< where all of the file is needed
  int also_in_part = 0;  ///< of these, where some pixels are needed
};

/// @param from, to  where bits are turned, in eighths of the data
Verdicts judge_damaged(int restart, int from, int to, const plan::Rect& pixels, bool strict) {
  const conformance::Case c{
      conformance::layout("420"), conformance::coding("baseline"), kWidth, kHeight, 90, restart, 3};
  const Bytes sound = conformance::make_jpeg(c);
  const jpeg::Scan scan = value_of(jpeg::parse(sound, {})).scans[0];
  const std::size_t eighth = scan.entropy_bytes / 8;
  std::mt19937 random(8);
  Transcoder transcoder = value_of(Transcoder::make());
  Verdicts verdicts;
  for (int round = 0; round < 30; ++round) {
    Bytes damaged = sound;
    const std::size_t at = eighth * static_cast<std::size_t>(from) +
                           random() % (eighth * static_cast<std::size_t>(to - from));
    damaged[scan.entropy_offset + at] ^= static_cast<std::uint8_t>(1u << random() % 8);
    std::unique_ptr<OwnedItem> owned;
    try {
      owned = std::make_unique<OwnedItem>(damaged, 8);
    } catch (const std::runtime_error&) {
      continue;  // a marker in the middle of the data
    }
    std::vector<Item> items(2, owned->item);
    items[1].needed_pixels = pixels;
    items[1].strict = strict;
    EXPECT_TRUE(transcoder.enqueue(items));
    EXPECT_TRUE(transcoder.wait());
    if (transcoder.result(0).status == 0) {
      EXPECT_EQ(transcoder.result(1).status, 0u) << at;
      continue;
    }
    ++verdicts.damaged;
    if (transcoder.result(1).status != 0) ++verdicts.also_in_part;
  }
  return verdicts;
}

/// Whatever follows such a bit is another picture.
TEST_F(NeededBlocks, AreJudgedLikeTheWholeUpToTheirEnd) {
  const Verdicts verdicts = judge_damaged(0, 0, 4, {200, kHeight - 40, 60, 40}, false);
  EXPECT_GT(verdicts.damaged, 5);
  EXPECT_EQ(verdicts.also_in_part, verdicts.damaged);
}

/// The CPU codec reads no further either, unless it is to be strict.
TEST_F(NeededBlocks, AreTheEndOfWhatIsJudgedUnlessStrict) {
  const plan::Rect top{100, 0, 80, 40};
  for (const int restart : {0, 1}) {
    SCOPED_TRACE(restart);
    const Verdicts usual = judge_damaged(restart, 6, 8, top, false);
    EXPECT_GT(usual.damaged, 3);
    EXPECT_LT(usual.also_in_part, usual.damaged);
    const Verdicts strict = judge_damaged(restart, 6, 8, top, true);
    EXPECT_EQ(strict.also_in_part, strict.damaged);
  }
}

/// What lies behind a part is not looked at, however long the pieces are that a batch of some size
/// is cut into: an image looks the same in every batch.
TEST_F(NeededBlocks, AreJudgedAlikeInBatchesOfEverySize) {
  std::vector<Transcoder> transcoders;
  for (int most = 0; most < 4; ++most) {
    codec::cuda::Tuning tuning;
    if (most > 0) tuning.lone_batch_bytes = 0;
    if (most > 1) tuning.tiny_batch_bytes = 0;
    if (most > 2) tuning.small_batch_bytes = tuning.medium_batch_bytes = 0;
    transcoders.push_back(value_of(Transcoder::make(false, tuning)));
  }
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    constexpr int kRestarts[] = {0, 1, 13, 60};
    const conformance::Case c{conformance::layout("420"),
                              conformance::coding("baseline"),
                              128,
                              96,
                              90,
                              kRestarts[round % std::size(kRestarts)],
                              3};
    Bytes bytes = conformance::make_jpeg(c);
    const jpeg::Scan scan = value_of(jpeg::parse(bytes, {})).scans[0];
    const std::size_t at = scan.entropy_offset + random() % scan.entropy_bytes;
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 3) {
      case 0:
        bytes.erase(place, std::min(place + 40, bytes.end() - 2));
        break;
      case 1:
        bytes.insert(place, 40, 0x5A);
        break;
      default:
        *place ^= static_cast<std::uint8_t>(1u << random() % 8);
    }
    OwnedItem owned(bytes, 8, jpeg::ParseDepth::kThroughFirst);
    owned.item.needed_pixels = {0, 0, 128, 20};
    std::vector<bool> taken;
    for (Transcoder& transcoder : transcoders) {
      ASSERT_TRUE(transcoder.enqueue({&owned.item, 1}));
      ASSERT_TRUE(transcoder.wait());
      taken.push_back(transcoder.result(0).status == 0);
    }
    EXPECT_EQ(taken, std::vector<bool>(taken.size(), taken[0])) << c.name() << " at " << at;
  }
}

/// Where the host has read a file up to its first scan, nobody else would find such markers, of
/// which the CPU codec's parser warns.
TEST_F(NeededBlocks, AreNotTheEndOfWhatIsSaidOfMarkers) {
  const conformance::Case c{
      conformance::layout("420"), conformance::coding("baseline"), 128, 96, 90, 0, 3};
  const Bytes sound = conformance::make_jpeg(c);
  const jpeg::Scan scan = value_of(jpeg::parse(sound, {})).scans[0];
  Transcoder transcoder = value_of(Transcoder::make());
  for (const std::size_t at : {scan.entropy_bytes * 7 / 8, scan.entropy_bytes}) {
    for (const int code : {0x03, 0xF2, 0xC0, 0xDA, 0xD0, 0xD9}) {
      Bytes bytes = sound;
      const Bytes marker = {0xFF, static_cast<std::uint8_t>(code)};
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(scan.entropy_offset + at),
                   marker.begin(), marker.end());
      OwnedItem owned(bytes, 8, jpeg::ParseDepth::kThroughFirst);
      owned.item.needed_pixels = {0, 0, 128, 20};
      ASSERT_TRUE(transcoder.enqueue({&owned.item, 1}));
      ASSERT_TRUE(transcoder.wait());
      const bool harmless = code == 0xD0 || code == 0xD9;
      EXPECT_EQ(transcoder.result(0).status == 0, harmless) << std::hex << code << " at " << at;
    }
  }
}

}  // namespace
}  // namespace framewire::gpu_tests
