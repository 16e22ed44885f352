// Sums and caches of the CUDA codec that grow with what files and options ask for. Needs no GPU:
// what is tested runs on the host, before and after kernels.
#include <codec/cuda/tuning.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <codec/cuda/batch_plan.hpp>
#include <codec/cuda/encode/block_coder.hpp>
#include <codec/cuda/encode/header_cache.hpp>
#include <vector>

namespace framewire::codec::cuda {
namespace {

plan::Plan output_of(std::int32_t blocks_across, std::int32_t blocks_down, int components) {
  plan::Plan plan;
  plan.encode.width_px = 8 * blocks_across;
  plan.encode.height_px = 8 * blocks_down;
  plan.encode.component_count = components;
  plan.encode.model = components == 1   ? plan::OutputModel::kGray
                      : components == 3 ? plan::OutputModel::kYcbcr
                                        : plan::OutputModel::kCmyk;
  return plan;
}

bool takes(const plan::Plan& plan) {
  Item item;
  item.plan = &plan;
  const auto taken = check_output(item);
  EXPECT_TRUE(taken || taken.error().code() == StatusCode::kUnsupported);
  return taken.has_value();
}

// A bit position that wraps lies before the end of the stream, and all that follows is written
// outside of it.
TEST(CudaBoundsAttack, OutputsWhoseBitPositionsCouldWrapAreRefused) {
  const auto most = static_cast<std::int32_t>(kMaxOutputBlocks);
  static_assert(kMaxOutputBlocks * (kMaxBlockBits + kMaxSegmentPaddingBits) <= UINT32_MAX);
  static_assert(kMaxOutputBlocks * kRawBytesPerBlock * 2 <= UINT32_MAX);  // the other sums of bytes
  EXPECT_TRUE(takes(output_of(most, 1, 1)));
  EXPECT_FALSE(takes(output_of(most + 1, 1, 1)));
  EXPECT_TRUE(takes(output_of(most / 3, 1, 3)));
  EXPECT_FALSE(takes(output_of(most / 3 + 1, 1, 3)));
  EXPECT_TRUE(takes(output_of(7000 / 8, 7142 / 8, 3)));  // 50 megapixels, the default limit
  EXPECT_FALSE(takes(output_of(1118, 1118, 3)));         // 80 megapixels of 4:4:4
  plan::Plan halved = output_of(1118, 1118, 3);
  halved.encode.h[0] = halved.encode.v[0] = 2;
  EXPECT_TRUE(takes(halved));
  EXPECT_FALSE(takes(output_of(8188, 8188, 4)));  // the largest picture there is
}

struct Counter {
  std::uint64_t bits = 0;
  void put(std::uint32_t /*code*/, std::uint32_t count) { bits += count; }
};

TEST(CudaBoundsAttack, NoBlockTakesMoreBitsThanTheBound) {
  std::array<std::uint32_t, 512> codes{};
  codes.fill(16u << 16);  // no code is longer, whatever the tables
  std::array<std::int16_t, 64> levels{};
  levels.fill(-1024);
  std::uint64_t most = 0;
  for (int kept = 0; kept <= 64; ++kept) {
    // The highest `kept` levels, or every so-manieth: runs, ends of block, and neither.
    for (int step = 1; step <= 32; ++step) {
      std::uint64_t mask = 0;
      for (int i = 63; i > 63 - kept && i >= 0; i -= step) mask |= 1ull << i;
      Counter counter;
      code_block(levels.data(), mask, -2047, codes.data(), counter);
      most = std::max(most, counter.bits);
    }
  }
  EXPECT_LE(most, kMaxBlockBits);
  EXPECT_GE(most, kMaxBlockBits - 64);  // the bound is no idle one
}

TEST(CudaBoundsAttack, BatchesWhoseBlocksCannotBeCountedAreRefused) {
  jpeg::JpegFile file;
  file.frame.component_count = 4;
  for (auto& component : file.frame.components) {
    component.padded_width_blocks = component.padded_height_blocks = 8188;
  }
  Item item;
  item.file = &file;
  EXPECT_TRUE(check_batch(std::vector<Item>(15, item)));
  EXPECT_FALSE(check_batch(std::vector<Item>(17, item)));
  file.frame.component_count = 1;
  EXPECT_TRUE(check_batch(std::vector<Item>(17, item)));
  file.scans.emplace_back().restart_interval_mcus = 1;
  EXPECT_TRUE(check_batch(std::vector<Item>(63, item)));
  EXPECT_FALSE(check_batch(std::vector<Item>(65, item)));
}

/// A gray plane of 640 × 480 on a device, cropped and resized as one option says.
class Crops {
 public:
  explicit Crops(int count) {
    plans_.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      plan::Plan& plan = plans_.emplace_back();
      plan.plane_count = 1;
      plan.planes[0].x = {640, 100 + i % 97, 0.001 * i, (500.0 + i % 13) / (100 + i % 97)};
      plan.planes[0].y = {480, 80 + i % 89, 0.002 * i, (400.0 + i % 11) / (80 + i % 89)};
      plan.encode = output_of(1, 1, 1).encode;
      plan.encode.width_px = plan.planes[0].x.out_size;
      plan.encode.height_px = plan.planes[0].y.out_size;
      plan.resized_width_px = plan.encode.width_px;
      plan.resized_height_px = plan.encode.height_px;
      plan.placement = {0, 0, plan.encode.width_px, plan.encode.height_px};
    }
  }
  [[nodiscard]] Item item(std::size_t index) const {
    Item item;
    item.plan = &plans_[index];
    item.planes = std::span(&plane_, 1);
    item.encode = false;
    return item;
  }
  [[nodiscard]] std::size_t size() const { return plans_.size(); }

 private:
  std::vector<plan::Plan> plans_;
  alignas(16) std::array<std::uint8_t, 16> samples_{};
  DevicePlane plane_{samples_.data(), 640, 480, 640};
};

struct BatchBytes {
  std::uint64_t uploaded = 0;
  std::uint64_t late = 0;
};

BatchBytes bytes_of(BatchPlan& plan, const std::vector<Item>& items) {
  plan.clear();
  for (const Item& item : items) plan.add(item);
  plan.lay_out();
  return {plan.arena().bytes(gpu::Part::kUploaded), plan.arena().bytes(gpu::Part::kLate)};
}

// Weights are made on the device: of a filter of its own a request brings a description, whatever
// its size.
TEST(CudaBoundsAttack, ACropOfItsOwnForEveryRequestUploadsNoWeights) {
  const Crops crops(500);
  std::vector<Item> items;
  std::size_t weights = 0;
  for (std::size_t i = 0; i < crops.size(); ++i) {
    items.push_back(crops.item(i));
    const auto& plane = items.back().plan->planes[0];
    weights += static_cast<std::size_t>(plane.x.out_size + plane.y.out_size) * 16;
  }
  BatchPlan plan;
  const BatchBytes all = bytes_of(plan, items);
  EXPECT_LE(all.uploaded, crops.size() * 1024);
  EXPECT_GE(all.late, weights);
}

TEST(CudaBoundsAttack, FiltersThatABatchAsksForTwiceAreMadeOnce) {
  const Crops crops(2);
  BatchPlan plan;
  const std::uint64_t one = bytes_of(plan, {crops.item(0)}).late;
  const std::uint64_t two = bytes_of(plan, {crops.item(0), crops.item(0)}).late;
  const std::uint64_t own = bytes_of(plan, {crops.item(0), crops.item(1)}).late;
  const auto& encode = crops.item(0).plan->encode;
  const auto plane =
      static_cast<std::uint64_t>((encode.width_px + 15) / 16 * 16 * encode.height_px);
  EXPECT_LE(two - one, plane + 2 * gpu::kAlignment);
  EXPECT_GT(own - one, plane + 2 * gpu::kAlignment);
}

TEST(CudaBoundsAttack, HeadersOfManySizesAndQualitiesAreForgotten) {
  HeaderCache headers;
  const std::vector<std::uint8_t> head(60'000, 0xFF);
  plan::EncodePlan encode = output_of(1, 1, 3).encode;
  for (int i = 0; i < 2000; ++i) {
    headers.trim();
    ASSERT_LE(headers.use().bytes, HeaderCache::kMaxBytes) << i;
    encode.width_px = 1 + i;
    encode.quality = 1 + i % 100;
    static_cast<void>(headers.get(head, encode));
  }
}

}  // namespace
}  // namespace framewire::codec::cuda
