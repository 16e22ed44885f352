#include <algorithm>
#include <cstring>
#include <tensor/plane_ring.hpp>
#include <tensor/upsample.hpp>

namespace framewire::tensor {
namespace {

/// Before the first column, so that the sample before it has a place.
constexpr std::size_t kMargin = 16;

}  // namespace

void PlaneRing::begin(const codec::SampleRegion& region, std::int32_t band_rows) {
  region_ = region;
  capacity_ = 2 * band_rows;
  end_ = region.top;
  pitch_ = kMargin + static_cast<std::size_t>(region.right - region.left) + kUpsamplePadding;
  samples_.assign(pitch_ * static_cast<std::size_t>(capacity_), 0);
}

std::size_t PlaneRing::slot(std::int32_t row) const noexcept {
  return static_cast<std::size_t>(row % capacity_) * pitch_ + kMargin;
}

void PlaneRing::put(std::int32_t first_row, std::span<const std::uint8_t* const> rows) {
  const auto width = static_cast<std::size_t>(region_.right - region_.left);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int32_t row = first_row + static_cast<std::int32_t>(i);
    if (row < region_.top || row >= region_.bottom) continue;
    std::uint8_t* to = samples_.data() + slot(row);
    std::memcpy(to, rows[i] + region_.left, width);
    *(to - 1) = to[0];
    to[width] = to[width - 1];
    end_ = row + 1;
  }
}

const std::uint8_t* PlaneRing::row(std::int32_t row) const noexcept {
  return samples_.data() + slot(std::clamp(row, region_.top, region_.bottom - 1));
}

}  // namespace framewire::tensor
