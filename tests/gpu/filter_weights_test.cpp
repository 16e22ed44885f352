// Weights that the device makes, bit for bit beside those of the host.
#include <codec/cuda/picture/filter_weights.hpp>
#include <codec/cuda/picture/picture_stage.hpp>
#include <cstring>
#include <gpu/buffer.hpp>
#include <gpu/stream.hpp>
#include <random>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/packed_filter.hpp>
#include <vector>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::AcrossPlan;
using codec::cuda::DownPlan;
using codec::cuda::kRowGroup;
using codec::cuda::kWeightThreads;
using codec::cuda::RowPart;

constexpr Kernel kKernels[] = {Kernel::kLanczos3, Kernel::kBicubic, Kernel::kBilinear,
                               Kernel::kArea, Kernel::kNearest};

struct Wanted {
  Kernel kernel;
  plan::AxisMap axis;
  RowPart part;  ///< of columns
};

/// Reductions as photographs meet them, steps whose sample places are whole numbers but for
/// rounding, enlargements, edges, and random ones.
std::vector<Wanted> all_wanted() {
  std::vector<plan::AxisMap> axes = {{960, 480, 0, 2},
                                     {540, 270, 0, 2},
                                     {2000, 1024, 0, 2000.0 / 1024},
                                     {300, 225, 0, 4.0 / 3},
                                     {301, 225, 0.5, 4.0 / 3},
                                     {100, 300, 0, 1.0 / 3},
                                     {1, 1, 0, 1},
                                     {5, 1, 0, 5},
                                     {3, 400, 0, 3.0 / 400},
                                     {8188, 1, 0, 8188},
                                     {8188, 3, 0, 8188.0 / 3},
                                     {4, 3, -20, 2},
                                     {640, 33, 17.25, 18},
                                     {7, 7, 0, 1},
                                     {1023, 200, 500.125, 2.6}};
  std::mt19937 random(5);
  std::uniform_int_distribution<std::int32_t> size(1, 700);
  std::uniform_real_distribution<double> part(0, 1);
  for (int i = 0; i < 60; ++i) {
    plan::AxisMap axis{size(random), size(random), 0, 1};
    axis.origin = axis.in_size * 0.5 * part(random);
    axis.step = (axis.in_size - axis.origin) * (0.05 + 0.95 * part(random)) / axis.out_size;
    axes.push_back(axis);
  }
  std::vector<Wanted> all;
  for (const Kernel kernel : kKernels) {
    for (const plan::AxisMap& axis : axes) all.push_back({kernel, axis, {}});
    all.push_back({kernel, {960, 480, 0, 2}, {101, 77, 190, 180}});
    all.push_back({kernel, {960, 480, 0, 2}, {0, 5, 0, 20}});
    all.push_back({kernel, {960, 480, 0, 2}, {478, 2, 940, 20}});
  }
  return all;
}

/// All filters in one batch on the device, and a copy of them on the host.
class FilterWeights : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    for (const Wanted& want : wanted_) add(want);
    for_each_list([&](auto& list) { list.lay_out(arena_); });
    run();
  }

  void add(const Wanted& want) {
    AcrossPlan across;
    across.desc.taps = codec::cuda::axis_taps(want.kernel, want.axis);
    across.desc.run = codec::cuda::across_words(across.desc.taps);
    const auto outputs = static_cast<std::uint64_t>(want.axis.out_size);
    across.first = arena_.add<std::uint32_t>(gpu::Part::kScratch, outputs);
    across.weights = arena_.add<uint2>(gpu::Part::kScratch, outputs * across.desc.run);
    across_tiles_.add_parts(across_.size(), tiles_of(outputs));
    across_.add(across);
    DownPlan down;
    down.desc.rows = codec::cuda::make_down_rows(want.kernel, want.axis, want.part);
    const std::uint64_t groups = down.desc.rows.groups();
    down.first = arena_.add<std::uint32_t>(gpu::Part::kScratch, groups);
    down.weights = arena_.add<float4>(gpu::Part::kScratch, groups * down.desc.rows.span);
    down_tiles_.add_parts(down_.size(), tiles_of(groups * kRowGroup));
    down_.add(down);
  }
  static std::uint32_t tiles_of(std::uint64_t outputs) {
    return static_cast<std::uint32_t>((outputs + kWeightThreads - 1) / kWeightThreads);
  }
  template <typename Call>
  void for_each_list(Call call) {
    call(across_), call(down_), call(across_tiles_), call(down_tiles_);
  }

  void run() {
    const std::size_t bytes = arena_.total_bytes();
    auto device = gpu::Buffer::make(gpu::BufferKind::kDevice, bytes);
    auto host = gpu::Buffer::make(gpu::BufferKind::kPinned, bytes);
    auto stream = gpu::Stream::make();
    ASSERT_TRUE(device && host && stream);
    host_ = std::move(*host);
    std::memset(host_.data(), 0xA5, bytes);  // so that what is not written shows
    const gpu::Memory there(device->data(), arena_);
    for_each_list([&](auto& list) { list.write({host_.data(), arena_}, there); });
    const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind) {
      ASSERT_EQ(cudaMemcpyAsync(to, from, bytes, kind, stream->get()), cudaSuccess);
    };
    copy(device->data(), host_.data(), cudaMemcpyHostToDevice);
    codec::cuda::PictureView view;
    view.across = across_.at(there);
    view.down = down_.at(there);
    codec::cuda::launch_filter_weights(view, across_tiles_.at(there), across_tiles_.size(),
                                       down_tiles_.at(there), down_tiles_.size(), stream->get());
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
    copy(host_.data(), device->data(), cudaMemcpyDeviceToHost);
    ASSERT_TRUE(stream->synchronise());
  }

  template <typename T>
  [[nodiscard]] std::vector<T> made(const gpu::Slice<T>& slice) const {
    const T* const from = gpu::Memory(host_.data(), arena_).at(slice);
    return {from, from + slice.count};
  }

  const std::vector<Wanted> wanted_ = all_wanted();
  gpu::Arena arena_;
  gpu::UploadList<AcrossPlan> across_;
  gpu::UploadList<DownPlan> down_;
  codec::cuda::TileList across_tiles_;
  codec::cuda::TileList down_tiles_;
  gpu::Buffer host_;
};

/// The weights of one output sample for all samples of its row.
std::vector<int> spread(std::int32_t in_size, std::uint32_t first, std::uint32_t words,
                        const std::uint32_t* pairs) {
  std::vector<int> row(static_cast<std::size_t>(in_size + 3) / 4 * 4);
  for (std::uint32_t i = 0; i < words * 4; ++i) {
    const auto high = static_cast<std::int8_t>(pairs[i / 4 * 2] >> i % 4 * 8 & 0xFF);
    const auto low = static_cast<int>(pairs[i / 4 * 2 + 1] >> i % 4 * 8 & 0xFF);
    row.at(first + i) = high * 256 + low;  // throws where a run leaves its row
  }
  return row;
}

TEST_F(FilterWeights, AlongRowsAreTheHosts) {
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const Wanted& want = wanted_[i];
    const PackedAcross twin = pack_across(want.kernel, want.axis);
    const auto first = made(across_[i].first);
    const auto weights = made(across_[i].weights);
    const std::uint32_t run = across_[i].desc.run;
    EXPECT_LE(run, twin.words + 1) << i;
    for (std::size_t x = 0; x < first.size(); ++x) {
      ASSERT_EQ(first[x] % 4, 0u);
      const auto ours = spread(want.axis.in_size, first[x], run, &weights[x * run].x);
      const auto host =
          spread(want.axis.in_size, twin.first[x], twin.words, &twin.weights[x * twin.words * 2]);
      ASSERT_EQ(ours, host) << "filter " << i << ", sample " << x;
    }
  }
}

TEST_F(FilterWeights, AlongColumnsAreTheHosts) {
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const PackedDown twin = pack_down(wanted_[i].kernel, wanted_[i].axis, wanted_[i].part);
    ASSERT_EQ(down_[i].desc.rows.span, twin.span) << i;
    ASSERT_EQ(made(down_[i].first), twin.first) << i;
    const auto weights = made(down_[i].weights);
    ASSERT_EQ(weights.size() * 4, twin.weights.size()) << i;
    EXPECT_EQ(std::memcmp(weights.data(), twin.weights.data(), twin.weights.size() * 4), 0) << i;
  }
}

// Kernels are unrolled for these; a word more would cost the commonest size.
TEST(FilterShape, RunsOfCommonReductionsAreAsShortAsTheirsCanBe) {
  for (const plan::AxisMap& axis : {plan::AxisMap{960, 480, 0, 2}, plan::AxisMap{640, 320, 0, 2},
                                    plan::AxisMap{2000, 1024, 0, 2000.0 / 1024}}) {
    EXPECT_EQ(codec::cuda::across_words(codec::cuda::axis_taps(Kernel::kLanczos3, axis)),
              pack_across(Kernel::kLanczos3, axis).words);
  }
}

}  // namespace
}  // namespace framewire::gpu_tests
