#include <algorithm>
#include <base/checked.hpp>
#include <codec/turbo/plane_sinks.hpp>
#include <cstring>
#include <transform/orient.hpp>
#include <utility>

namespace framewire::codec::turbo {

std::vector<std::pair<std::int32_t, std::int32_t>> output_sizes(const plan::Plan& plan) {
  std::vector<std::pair<std::int32_t, std::int32_t>> sizes;
  for (std::size_t c = 0; c < static_cast<std::size_t>(plan.encode.component_count); ++c) {
    std::int32_t step_x = plan.encode.h[0] / plan.encode.h[c];
    std::int32_t step_y = plan.encode.v[0] / plan.encode.v[c];
    if (transform::swaps_axes(plan.orientation)) std::swap(step_x, step_y);
    sizes.emplace_back(base::ceil_div(plan.resized_width_px, step_x),
                       base::ceil_div(plan.resized_height_px, step_y));
  }
  return sizes;
}

PlaneSink::PlaneSink(const std::vector<std::pair<std::int32_t, std::int32_t>>& sizes)
    : next_(sizes.size(), 0) {
  for (const auto& [width, height] : sizes) {
    Plane plane{width, height, {}};
    plane.samples.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    planes_.planes.push_back(std::move(plane));
  }
}

void PlaneSink::row(int plane, const std::uint8_t* samples) {
  Plane& p = planes_.planes[static_cast<std::size_t>(plane)];
  std::int32_t& y = next_[static_cast<std::size_t>(plane)];
  if (y == p.height_px) return;
  const auto width = static_cast<std::size_t>(p.width_px);
  std::memcpy(p.samples.data() + static_cast<std::size_t>(y) * width, samples, width);
  ++y;
}

Subsampler::Subsampler(std::int32_t width_px, std::int32_t height_px, int step_x, int step_y,
                       int shift_x, int shift_y)
    : width_(width_px),
      height_(height_px),
      step_x_(step_x),
      step_y_(step_y),
      shift_x_(shift_x),
      shift_y_(shift_y),
      out_width_(base::ceil_div(width_px, std::int32_t{step_x})),
      out_height_(base::ceil_div(height_px, std::int32_t{step_y})),
      sums_(static_cast<std::size_t>(out_width_)),
      out_(static_cast<std::size_t>(out_width_)) {}

void Subsampler::add(const std::uint8_t* samples) {
  // Chroma samples whose pixels all lie inside the picture need no clamping.
  const std::int32_t first = shift_x_ == 0 ? 0 : 1;
  const std::int32_t last = (width_ - shift_x_) / step_x_;
  const auto clamped = [&](std::int32_t j) {
    for (int i = 0; i < step_x_; ++i) {
      sums_[static_cast<std::size_t>(j)] +=
          samples[std::clamp(j * step_x_ + shift_x_ + i, 0, width_ - 1)];
    }
  };
  if (first == 1) clamped(0);
  const std::uint8_t* in = samples + first * step_x_ + shift_x_;
  if (step_x_ == 2) {
    for (std::int32_t j = first; j < last; ++j, in += 2) {
      sums_[static_cast<std::size_t>(j)] += static_cast<std::uint32_t>(in[0] + in[1]);
    }
  } else {
    for (std::int32_t j = first; j < last; ++j) {
      for (int i = 0; i < step_x_; ++i) sums_[static_cast<std::size_t>(j)] += *in++;
    }
  }
  for (std::int32_t j = std::max(first, last); j < out_width_; ++j) clamped(j);
  ++rows_added_;
}

void Subsampler::push(int plane, const std::uint8_t* samples, RowSink& sink) {
  if (step_x_ == 1 && step_y_ == 1) return sink.row(plane, samples);
  // The first and last rows also stand for the grid's rows outside the picture.
  int repeats = 1;
  if (next_in_ == 0) repeats -= shift_y_;
  if (next_in_ == height_ - 1) repeats += out_height_ * step_y_ + shift_y_ - height_;
  ++next_in_;
  const auto area = static_cast<std::uint32_t>(step_x_ * step_y_);
  for (int r = 0; r < repeats; ++r) {
    add(samples);
    if (rows_added_ < step_y_) continue;
    for (std::size_t j = 0; j < out_.size(); ++j) {
      out_[j] =
          static_cast<std::uint8_t>(area == 4 ? (sums_[j] + 2) >> 2 : (sums_[j] + area / 2) / area);
    }
    std::fill(sums_.begin(), sums_.end(), 0u);
    rows_added_ = 0;
    if (next_out_++ < out_height_) sink.row(plane, out_.data());
  }
}

GridShift grid_shift(const plan::Plan& plan, int step_x, int step_y) {
  const auto first = transform::stored_position(plan.orientation, {0, 0}, plan.resized_width_px,
                                                plan.resized_height_px);
  GridShift shift;
  if (first.x != 0) shift.x = -((step_x - plan.resized_width_px % step_x) % step_x);
  if (first.y != 0) shift.y = -((step_y - plan.resized_height_px % step_y) % step_y);
  return shift;
}

ConvertSink::ConvertSink(const plan::Plan& plan, const color::Converter& converter, RowSink& next)
    : converter_(converter),
      next_(next),
      width_px_(plan.resized_width_px),
      pending_(static_cast<std::size_t>(converter.input_components())) {
  const bool swapped = transform::swaps_axes(plan.orientation);
  const int step_x = swapped ? plan.encode.v[0] : plan.encode.h[0];
  const int step_y = swapped ? plan.encode.h[0] : plan.encode.v[0];
  for (int c = 0; c < converter.output_components(); ++c) {
    converted_.emplace_back(static_cast<std::size_t>(width_px_));
    const int sx = c == 0 ? 1 : step_x;
    const int sy = c == 0 ? 1 : step_y;
    const GridShift shift = grid_shift(plan, sx, sy);
    subsamplers_.emplace_back(plan.resized_width_px, plan.resized_height_px, sx, sy, shift.x,
                              shift.y);
  }
}

void ConvertSink::row(int plane, const std::uint8_t* samples) {
  auto& rows = pending_[static_cast<std::size_t>(plane)];
  rows.insert(rows.end(), samples, samples + width_px_);
  convert_ready();
}

void ConvertSink::convert_ready() {
  const auto width = static_cast<std::size_t>(width_px_);
  std::size_t ready = pending_[0].size();
  for (const auto& rows : pending_) ready = std::min(ready, rows.size());
  if (ready == 0) return;
  std::vector<std::uint8_t*> out;
  for (auto& row : converted_) out.push_back(row.data());
  std::vector<const std::uint8_t*> in(pending_.size());
  for (std::size_t at = 0; at < ready; at += width) {
    for (std::size_t c = 0; c < in.size(); ++c) in[c] = pending_[c].data() + at;
    converter_.convert_row(in, out, width_px_);
    for (std::size_t c = 0; c < out.size(); ++c) {
      subsamplers_[c].push(static_cast<int>(c), out[c], next_);
    }
  }
  for (auto& rows : pending_) {
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(ready));
  }
}

}  // namespace framewire::codec::turbo
