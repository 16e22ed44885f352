// Idea: one thread makes the weights of one output sample, in double precision and by the CPU's own
// code, twice over: for their sum, then for themselves. Every image has a crop of its own, so that
// weights made on the host would be 20 KB an image to upload. What is rounded is the sum of a
// weight and those before it, so that all of them sum to 1, and areas of one colour keep it.
#include <gpu/launch.hpp>
#include <tensor/cuda/kernels.hpp>
#include <tensor/cuda/tuning.hpp>

namespace framewire::tensor::cuda {
namespace {

__global__ void __launch_bounds__(kWeightThreads) weights_kernel(BatchDesc batch) {
  gpu::grid_dependency_sync();
  const AxisWeights& axis = batch.axes[blockIdx.x];
  const std::int32_t out = axis.taps.taps.geometry.out_size;
  const auto j = static_cast<std::int32_t>(blockIdx.y * kWeightThreads + threadIdx.x);
  if (j >= out) return;
  const transform::TapRun run = transform::tap_run(axis.taps.taps, j);
  const std::int32_t ahead = (run.first + axis.lead) & (axis.alignment - 1);
  const std::int32_t quads = (ahead + run.count + 3) / 4;
  axis.first[j] = run.first - ahead;
  axis.count[j] = quads;
  uint2* const column = axis.quads + j;
  uint2 quad{0, 0};
  std::int32_t index_of_quad = 0;
  const auto store_until = [&](std::int32_t next) {
    for (; index_of_quad < next; ++index_of_quad, quad = {0, 0}) {
      column[static_cast<std::int64_t>(index_of_quad) * out] = quad;
    }
  };
  double sum = 0.0;
  int before = 0;
  transform::for_each_crop_tap(axis.taps, run, [&](std::int32_t index, double weight) {
    sum += weight;
    const auto rounded = static_cast<int>(rint(sum * (1 << kWeightBits)));
    const std::int32_t at = ahead + index;
    store_until(at / 4);
    const std::uint32_t bits = (static_cast<std::uint32_t>(rounded - before) & 0xFFFF)
                               << 16 * (at % 2);
    (at % 4 < 2 ? quad.x : quad.y) |= bits;
    before = rounded;
  });
  store_until(quads);
}

}  // namespace

void launch_weights(const BatchDesc& batch, cudaStream_t stream) {
  const auto parts = static_cast<unsigned>((batch.max_axis + kWeightThreads - 1) / kWeightThreads);
  gpu::launch(weights_kernel, dim3(batch.axis_count, parts), kWeightThreads, 0, stream, batch);
}

}  // namespace framewire::tensor::cuda
