#include <algorithm>
#include <base/checked.hpp>
#include <cstring>
#include <tensor/plane_resampler.hpp>
#include <tensor/resample_passes.hpp>

namespace framewire::tensor {

void PlaneResampler::begin(const FloatFilter& x, const FloatFilter& y) {
  x_ = &x;
  y_ = &y;
  next_in_ = next_out_ = 0;
  capacity_ = y.longest();
  pitch_ = base::ceil_div(static_cast<std::size_t>(x.in_size()), kRowPadding) * kRowPadding +
           kRowPadding;
  // Zeroed: vectors pass the end of a row, and what lies there must be finite.
  ring_.assign(pitch_ * static_cast<std::size_t>(capacity_), 0);
  window_.resize(static_cast<std::size_t>(capacity_));
  middle_.assign(pitch_ + static_cast<std::size_t>(x.stride()), 0.0f);
  out_.resize(static_cast<std::size_t>(x.out_size()) + kRowPadding);
}

bool PlaneResampler::needs_next() const noexcept {
  return !done() && next_in_ >= y_->first()[next_out_];
}

std::uint8_t* PlaneResampler::slot(std::int32_t row) noexcept {
  return ring_.data() + static_cast<std::size_t>(row % capacity_) * pitch_;
}

void PlaneResampler::keep(const std::uint8_t* samples) {
  std::memcpy(slot(next_in_++), samples, static_cast<std::size_t>(x_->in_size()));
}

const float* PlaneResampler::make_row() {
  const std::int32_t first = y_->first()[next_out_];
  const auto count = static_cast<std::size_t>(y_->count(next_out_));
  for (std::size_t k = 0; k < count; ++k) window_[k] = slot(first + static_cast<std::int32_t>(k));
  blend_rows(window_.data(), y_->weights(next_out_), count, static_cast<std::size_t>(x_->in_size()),
             middle_.data());
  const auto padded = base::ceil_div(x_->out_size(), FloatFilter::kGroup) * FloatFilter::kGroup;
  filter_row(middle_.data(), x_->first(), x_->weights(), static_cast<std::size_t>(x_->stride()),
             static_cast<std::size_t>(padded), out_.data());
  return out_.data();
}

}  // namespace framewire::tensor
