#include <algorithm>
#include <codec/turbo/resample_passes.hpp>
#include <codec/turbo/row_resampler.hpp>
#include <cstring>

namespace framewire::codec::turbo {

RowResampler::RowResampler(int plane, std::shared_ptr<const FixedFilter> x,
                           std::shared_ptr<const FixedFilter> y)
    : plane_(plane), x_(std::move(x)), y_(std::move(y)) {
  std::int32_t right = 0;
  left_ = x_->in_size;
  for (std::size_t j = 0; j < x_->first.size(); ++j) {
    left_ = std::min(left_, x_->first[j]);
    right = std::max(right, x_->first[j] + x_->count[j]);
  }
  width_ = right - left_;
  capacity_ = *std::max_element(y_->count.begin(), y_->count.end());
  pitch_ = static_cast<std::size_t>(width_) + kRowSlack;
  ring_.assign(static_cast<std::size_t>(capacity_) * pitch_, 0);
  window_.resize(static_cast<std::size_t>(capacity_));
  // The horizontal pass addresses by input column, so `left_` columns of the buffer stay unused.
  middle_.assign(static_cast<std::size_t>(right) + x_->stride + kRowSlack, 0);
  out_.resize(static_cast<std::size_t>(x_->out_size));
}

std::uint8_t* RowResampler::slot(std::int32_t row) noexcept {
  return ring_.data() + static_cast<std::size_t>(row % capacity_) * pitch_;
}

void RowResampler::push(const std::uint8_t* samples, RowSink& sink) {
  if (done()) return;
  const std::int32_t row = next_in_++;
  if (row < y_->first[static_cast<std::size_t>(next_out_)]) return;  // above the part in use
  std::memcpy(slot(row), samples + left_, static_cast<std::size_t>(width_));
  while (!done()) {
    const auto j = static_cast<std::size_t>(next_out_);
    if (y_->first[j] + y_->count[j] > next_in_) break;
    emit(sink);
  }
}

void RowResampler::emit(RowSink& sink) {
  const auto j = static_cast<std::size_t>(next_out_);
  const std::int32_t count = y_->count[j];
  for (std::int32_t k = 0; k < count; ++k) {
    window_[static_cast<std::size_t>(k)] = slot(y_->first[j] + k);
  }
  combine_rows(window_.data(), &y_->weights[j * static_cast<std::size_t>(y_->stride)], count,
               width_, middle_.data() + left_);
  filter_row(middle_.data(), *x_, out_.data());
  ++next_out_;
  sink.row(plane_, out_.data());
}

}  // namespace framewire::codec::turbo
