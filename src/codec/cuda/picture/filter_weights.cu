// Idea: one thread makes the weights of one output sample, from the few numbers that describe its
// axis, in the layout that the resampling kernels read. It evaluates the kernel twice, for the sum
// and for the weights, rather than keep runs of any length; each axis of a batch is done once. The
// arithmetic is transform/axis_taps.hpp in double precision, compiled without fused products, so
// that weights are those of a CPU bit for bit.
//
// Tried and rejected: weights made on the host and uploaded (23 µs and 20 KB an image of its own
// size); weights made by the blocks that resample: every tile of a plane makes its columns' anew,
// nine times as many evaluations for 480×270.
#include <codec/cuda/tuning.h>
#include <codec/cuda/picture/filter_weights.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr std::int32_t kOne = 16384;  // 1 in the fixed point of AcrossDesc::weights

/// Writes an output sample's words, each when its last weight is known.
class WordWriter {
 public:
  __device__ WordWriter(uint2* words, std::uint32_t count) : words_(words), count_(count) {}

  /// @param at  index of the sample, at least that of the call before
  __device__ void add(std::uint32_t at, double weight) {
    if (at / 4 >= count_) return;  // it rounds to 0: across_words()
    while (next_ < at / 4) flush();
    const auto rounded = static_cast<std::int32_t>(std::lround(weight * kOne));
    word_.x |= (static_cast<std::uint32_t>(rounded) >> 8 & 0xFF) << at % 4 * 8;
    word_.y |= (static_cast<std::uint32_t>(rounded) & 0xFF) << at % 4 * 8;
    sum_ += rounded;
    if (rounded > largest_) largest_ = rounded, largest_at_ = at;
  }
  /// The largest weight takes what rounding has left of the sum.
  __device__ void close() {
    while (next_ < count_) flush();
    const auto weight = static_cast<std::uint32_t>(largest_ + kOne - sum_);
    uint2& word = words_[largest_at_ / 4];
    const std::uint32_t shift = largest_at_ % 4 * 8;
    word.x = (word.x & ~(0xFFu << shift)) | (weight >> 8 & 0xFF) << shift;
    word.y = (word.y & ~(0xFFu << shift)) | (weight & 0xFF) << shift;
  }

 private:
  __device__ void flush() {
    words_[next_++] = word_;
    word_ = {0, 0};
  }

  uint2* words_;
  std::uint32_t count_;
  std::uint32_t next_ = 0;
  uint2 word_{0, 0};
  std::int32_t sum_ = 0;
  std::int32_t largest_ = INT32_MIN;
  std::uint32_t largest_at_ = 0;
};

__device__ void weigh_across(const AcrossDesc& filter, std::uint32_t x) {
  const transform::TapRun run = transform::tap_run(filter.taps, static_cast<std::int32_t>(x));
  const auto begin = static_cast<std::uint32_t>(run.first);
  // No run may reach beyond the last word of its row: the memory behind may belong to somebody
  // else.
  const std::uint32_t row_words =
      (static_cast<std::uint32_t>(filter.taps.geometry.in_size) + 3) / 4;
  const std::uint32_t first = min(begin / 4, row_words - filter.run) * 4;
  filter.first[x] = first;
  WordWriter words(filter.weights + static_cast<std::uint64_t>(x) * filter.run, filter.run);
  transform::for_each_tap(filter.taps, run, [&](std::int32_t index, double weight) {
    words.add(begin - first + static_cast<std::uint32_t>(index), weight);
  });
  words.close();
}

/// Rows behind the last one, which fill up its group, get weights of 0.
__device__ void weigh_down(const DownDesc& filter, std::uint32_t row) {
  const DownRows& rows = filter.rows;
  const std::uint32_t group = row / kRowGroup;
  const std::uint32_t first = rows.first_of(group);
  if (row % kRowGroup == 0) filter.first[group] = first;
  auto* column =
      reinterpret_cast<float*>(filter.weights + static_cast<std::uint64_t>(group) * rows.span) +
      row % kRowGroup;
  std::uint32_t next = 0;
  const auto fill = [&](std::uint32_t end) {
    for (; next < end; ++next) column[static_cast<std::uint64_t>(next) * kRowGroup] = 0.f;
  };
  if (row < static_cast<std::uint32_t>(rows.part.out_count)) {
    const auto run =
        transform::tap_run(rows.taps, rows.part.out_first + static_cast<std::int32_t>(row));
    const auto begin = static_cast<std::uint32_t>(run.first - rows.part.in_first) - first;
    transform::for_each_tap(rows.taps, run, [&](std::int32_t index, double weight) {
      const std::uint32_t at = begin + static_cast<std::uint32_t>(index);
      if (at >= rows.span) return;
      fill(at);
      column[static_cast<std::uint64_t>(next++) * kRowGroup] = static_cast<float>(weight / kOne);
    });
  }
  fill(rows.span);
}

__global__ void __launch_bounds__(kWeightThreads)
    weights_kernel(PictureView batch, const Tile* across, std::uint32_t across_count,
                   const Tile* down) {
  gpu::grid_dependency_sync();
  if (blockIdx.x < across_count) {
    const Tile tile = across[blockIdx.x];
    const AcrossDesc& filter = batch.across[tile.owner];
    const std::uint32_t x = tile.part * kWeightThreads + threadIdx.x;
    if (x < static_cast<std::uint32_t>(filter.taps.geometry.out_size)) weigh_across(filter, x);
    return;
  }
  const Tile tile = down[blockIdx.x - across_count];
  const DownDesc& filter = batch.down[tile.owner];
  const std::uint32_t row = tile.part * kWeightThreads + threadIdx.x;
  if (row < filter.rows.groups() * kRowGroup) weigh_down(filter, row);
}

}  // namespace

void launch_filter_weights(const PictureView& batch, const Tile* across, std::uint32_t across_count,
                           const Tile* down, std::uint32_t down_count, cudaStream_t stream) {
  if (across_count + down_count == 0) return;
  gpu::launch(weights_kernel, across_count + down_count, kWeightThreads, 0, stream, batch, across,
              across_count, down);
}

}  // namespace framewire::codec::cuda
