#include <algorithm>
#include <tensor/full_rows.hpp>
#include <tensor/upsample.hpp>

namespace framewire::tensor {
namespace {

/// The sample of an axis under a pixel's centre.
std::int32_t nearest(std::int32_t pixel, int factor, int max) {
  return (2 * pixel + 1) * factor / (2 * max);
}

}  // namespace

void FullRows::begin(const jpeg::FrameHeader& frame, const jpeg::Component& component,
                     const codec::SampleRegion& region, const CropBox& crop) {
  v_ = component.v;
  v_max_ = frame.v_max;
  columns_ = region.right - region.left;
  bottom_ = region.bottom;
  ring_.begin(region, component.v * 8);
  const bool full_x = component.h == frame.h_max;
  const bool full_y = component.v == frame.v_max;
  const bool half_x = component.h * 2 == frame.h_max;
  const bool half_y = component.v * 2 == frame.v_max;
  const bool wide = component.width_px > 2;  // libjpeg repeats what is narrower
  kind_ = Kind::kNearest;
  if (full_x && full_y) kind_ = Kind::kFull;
  if (half_x && full_y && wide) kind_ = Kind::k2x1;
  if (full_x && half_y) kind_ = Kind::k1x2;
  if (half_x && half_y && wide) kind_ = Kind::k2x2;
  const bool doubles = kind_ == Kind::k2x1 || kind_ == Kind::k2x2;
  skipped_ = static_cast<std::size_t>(crop.left_px - region.left * (doubles ? 2 : 1));
  const auto width = static_cast<std::size_t>(std::max(2 * columns_, crop.width_px));
  out_.assign(kind_ == Kind::kFull ? 0 : width + 2 * kUpsamplePadding, 0);
  sources_.clear();
  if (kind_ != Kind::kNearest) return;
  for (std::int32_t x = 0; x < crop.width_px; ++x) {
    const std::int32_t column = nearest(crop.left_px + x, component.h, frame.h_max);
    sources_.push_back(std::min(column, region.right - 1) - region.left);
  }
}

std::int32_t FullRows::row_of(std::int32_t y) const noexcept { return nearest(y, v_, v_max_); }

bool FullRows::has(std::int32_t y) const noexcept {
  const bool reaches_below = (kind_ == Kind::k2x2 || kind_ == Kind::k1x2) && y % 2 == 1;
  const std::int32_t last = row_of(y) + (reaches_below ? 1 : 0);
  return ring_.end() > std::min(last, bottom_ - 1);
}

const std::uint8_t* FullRows::repeat(const std::uint8_t* in) {
  for (std::size_t x = 0; x < sources_.size(); ++x) out_[x] = in[sources_[x]];
  return out_.data();
}

const std::uint8_t* FullRows::make(std::int32_t y) {
  const std::int32_t row = row_of(y);
  const std::int32_t neighbour = y % 2 == 1 ? row + 1 : row - 1;
  const auto count = static_cast<std::size_t>(columns_);
  switch (kind_) {
    case Kind::kFull:
      return ring_.row(row) + skipped_;
    case Kind::k2x1:
      upsample_2x1(ring_.row(row), count, out_.data());
      break;
    case Kind::k2x2:
      upsample_2x2(ring_.row(row), ring_.row(neighbour), count, out_.data());
      break;
    case Kind::k1x2:
      upsample_1x2(ring_.row(row), ring_.row(neighbour), count, y % 2 == 1 ? 2 : 1, out_.data());
      break;
    case Kind::kNearest:
      return repeat(ring_.row(row));
  }
  return out_.data() + skipped_;
}

}  // namespace framewire::tensor
