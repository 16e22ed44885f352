#include <algorithm>
#include <base/checked.hpp>
#include <tensor/float_filter.hpp>
#include <transform/crop_taps.hpp>

namespace framewire::tensor {

void FloatFilter::make(Kernel kernel, const transform::AxisGeometry& geometry, bool antialias) {
  const transform::CropTaps taps = transform::make_crop_taps(kernel, geometry, antialias);
  in_size_ = geometry.in_size;
  out_size_ = geometry.out_size;
  const auto padded = static_cast<std::size_t>(base::ceil_div(out_size_, kGroup) * kGroup);
  first_.assign(padded, 0);
  count_.assign(padded, 1);
  longest_ = 1;
  for (std::int32_t j = 0; j < out_size_; ++j) {
    const transform::TapRun run = transform::tap_run(taps.taps, j);
    first_[static_cast<std::size_t>(j)] = run.first;
    count_[static_cast<std::size_t>(j)] = run.count;
    longest_ = std::max(longest_, run.count);
  }
  stride_ = base::ceil_div(longest_, kGroup) * kGroup;
  weights_.assign(padded * static_cast<std::size_t>(stride_), 0.0f);
  for (std::int32_t j = 0; j < out_size_; ++j) {
    float* row = weights_.data() + static_cast<std::size_t>(j) * static_cast<std::size_t>(stride_);
    transform::for_each_crop_tap(
        taps, transform::tap_run(taps.taps, j),
        [&](std::int32_t index, double weight) { row[index] = static_cast<float>(weight); });
  }
}

}  // namespace framewire::tensor
