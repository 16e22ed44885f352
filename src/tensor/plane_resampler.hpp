// Resamples one plane row by row, holding only the rows that the next output row needs.
#pragma once

#include <cstdint>
#include <tensor/float_filter.hpp>
#include <vector>

namespace framewire::tensor {

/// Vertical pass first, then horizontal, both in single precision, nothing rounded between.
class PlaneResampler {
 public:
  /// Begins a plane. @param x, y  stay, and stay as they are, until the plane is done
  void begin(const FloatFilter& x, const FloatFilter& y);

  /// Whether the input row that comes next counts for any output row; if not, skip() will do.
  [[nodiscard]] bool needs_next() const noexcept;
  void skip() noexcept { ++next_in_; }
  /// Whether every output row has been given out.
  [[nodiscard]] bool done() const noexcept { return next_out_ == y_->out_size(); }

  /// Takes the next input row, and calls emit(j, row) for each output row that it completes.
  /// @param samples  host, [x.in_size] uint8
  /// @param emit     row: host, [x.out_size, padded] float; valid during the call
  template <typename Emit>
  void push(const std::uint8_t* samples, Emit&& emit) {
    keep(samples);
    while (!done() && next_in_ >= y_->first()[next_out_] + y_->count(next_out_)) {
      emit(next_out_, make_row());
      ++next_out_;
    }
  }

 private:
  void keep(const std::uint8_t* samples);
  [[nodiscard]] const float* make_row();
  [[nodiscard]] std::uint8_t* slot(std::int32_t row) noexcept;

  const FloatFilter* x_ = nullptr;
  const FloatFilter* y_ = nullptr;
  std::int32_t capacity_ = 1;
  std::size_t pitch_ = 0;
  std::int32_t next_in_ = 0;
  std::int32_t next_out_ = 0;
  std::vector<std::uint8_t> ring_;
  std::vector<const std::uint8_t*> window_;
  std::vector<float> middle_;
  std::vector<float> out_;
};

}  // namespace framewire::tensor
