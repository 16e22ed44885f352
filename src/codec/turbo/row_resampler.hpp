// Resamples one plane row by row, holding only the rows that the next output row needs.
#pragma once

#include <codec/turbo/fixed_filter.hpp>
#include <codec/turbo/row_sink.hpp>
#include <cstdint>
#include <memory>
#include <vector>

namespace framewire::codec::turbo {

class RowResampler {
 public:
  /// @param plane  the number under which rows go to the sink
  RowResampler(int plane, std::shared_ptr<const FixedFilter> x,
               std::shared_ptr<const FixedFilter> y);

  /// Takes the next input row; gives the sink each output row that it completes.
  /// @param samples  host, [x.in_size] uint8
  void push(const std::uint8_t* samples, RowSink& sink);

  /// Whether every output row has been given out.
  [[nodiscard]] bool done() const noexcept { return next_out_ == y_->out_size; }

 private:
  void emit(RowSink& sink);
  [[nodiscard]] std::uint8_t* slot(std::int32_t row) noexcept;

  int plane_;
  std::shared_ptr<const FixedFilter> x_;
  std::shared_ptr<const FixedFilter> y_;
  std::int32_t left_ = 0;   ///< first input column that any output uses
  std::int32_t width_ = 0;  ///< number of columns used
  std::int32_t capacity_ = 1;
  std::size_t pitch_ = 0;
  std::int32_t next_in_ = 0;
  std::int32_t next_out_ = 0;
  std::vector<std::uint8_t> ring_;
  std::vector<const std::uint8_t*> window_;
  std::vector<std::int16_t> middle_;
  std::vector<std::uint8_t> out_;
};

}  // namespace framewire::codec::turbo
