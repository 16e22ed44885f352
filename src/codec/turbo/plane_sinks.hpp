// Sinks that keep rows, convert their colour, or subsample them.
#pragma once

#include <codec/codec.hpp>
#include <codec/turbo/row_sink.hpp>
#include <color/converter.hpp>
#include <vector>

namespace framewire::codec::turbo {

/// Sizes of the output's planes before orientation and padding.
[[nodiscard]] std::vector<std::pair<std::int32_t, std::int32_t>> output_sizes(
    const plan::Plan& plan);

/// Collects rows into whole planes.
class PlaneSink final : public RowSink {
 public:
  /// @param sizes  width and height of each plane
  explicit PlaneSink(const std::vector<std::pair<std::int32_t, std::int32_t>>& sizes);
  void row(int plane, const std::uint8_t* samples) override;
  [[nodiscard]] Planes take() && { return std::move(planes_); }

 private:
  Planes planes_;
  std::vector<std::int32_t> next_;
};

/// Averages full-size rows of one plane into samples of step_x × step_y pixels.
class Subsampler {
 public:
  /// @param shift_x, shift_y  where the sample grid starts, ≤ 0; pixels outside the picture repeat
  ///                          its edge
  Subsampler(std::int32_t width_px, std::int32_t height_px, int step_x, int step_y, int shift_x,
             int shift_y);
  /// Takes the next row; gives `sink` a row of `plane` whenever one is complete.
  void push(int plane, const std::uint8_t* samples, RowSink& sink);
  [[nodiscard]] std::int32_t out_width_px() const noexcept { return out_width_; }
  [[nodiscard]] std::int32_t out_height_px() const noexcept { return out_height_; }

 private:
  void add(const std::uint8_t* samples);

  std::int32_t width_, height_;
  int step_x_, step_y_, shift_x_, shift_y_;
  std::int32_t out_width_, out_height_;
  std::int32_t next_in_ = 0;
  std::int32_t next_out_ = 0;
  int rows_added_ = 0;
  std::vector<std::uint32_t> sums_;
  std::vector<std::uint8_t> out_;
};

/// Brings the components' rows together, converts them, and passes on planes at the output's own
/// sampling.
class ConvertSink final : public RowSink {
 public:
  ConvertSink(const plan::Plan& plan, const color::Converter& converter, RowSink& next);
  void row(int plane, const std::uint8_t* samples) override;

 private:
  void convert_ready();

  const color::Converter& converter_;
  RowSink& next_;
  std::int32_t width_px_;
  std::vector<std::vector<std::uint8_t>> pending_;  ///< per input plane, whole rows
  std::vector<std::vector<std::uint8_t>> converted_;
  std::vector<Subsampler> subsamplers_;  ///< one an output plane
};

/// How far before the picture the output's sample grid starts, for each axis of the stored picture.
struct GridShift {
  int x = 0;
  int y = 0;
};
/// @param step_x, step_y  sample size in output pixels along the stored axes
[[nodiscard]] GridShift grid_shift(const plan::Plan& plan, int step_x, int step_y);

}  // namespace framewire::codec::turbo
