#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <framewire/random_crop.hpp>
#include <tensor/philox.hpp>

namespace framewire {
namespace {

constexpr std::int32_t kMaxSidePx = 1 << 24;
constexpr std::uint32_t kTries = 10;  // torchvision's
/// Last words of the counter: tries have 0 to 9.
constexpr std::uint32_t kFlipBlock = 0x80000000u;

std::array<std::uint32_t, 4> draw(const SampleKey& key, std::uint32_t block) {
  return tensor::philox4x32(
      {static_cast<std::uint32_t>(key.sample), static_cast<std::uint32_t>(key.sample >> 32),
       key.epoch, block},
      {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
}

/// From low up to, not including, high.
double uniform(std::uint32_t random, double low, double high) {
  return low + (high - low) * (static_cast<double>(random) * 0x1p-32);
}

/// A number below `bound`, 1 to 2²⁴: their frequencies differ by less than 2⁻⁸.
std::int32_t below(std::uint32_t random, std::int32_t bound) {
  return static_cast<std::int32_t>(std::uint64_t{random} * static_cast<std::uint64_t>(bound) >> 32);
}

/// Halves to the even number, as Python's round().
std::int32_t round_half_even(double value) {
  return static_cast<std::int32_t>(std::nearbyint(value));
}

/// The middle of the picture, cut where its ratio is beyond those allowed.
CropBox fallback(std::int32_t width, std::int32_t height, const RandomCropOptions& options) {
  const double ratio = static_cast<double>(width) / height;
  CropBox box{0, 0, width, height};
  // A ratio far from 1 could round a side to nothing; torchvision would then fail.
  if (ratio < options.min_ratio) {
    box.height_px = std::clamp(round_half_even(width / options.min_ratio), 1, height);
  } else if (ratio > options.max_ratio) {
    box.width_px = std::clamp(round_half_even(height * options.max_ratio), 1, width);
  }
  box.left_px = (width - box.width_px) / 2;
  box.top_px = (height - box.height_px) / 2;
  return box;
}

Result<void> check(std::int32_t width, std::int32_t height, const RandomCropOptions& o) {
  if (width < 1 || height < 1 || width > kMaxSidePx || height > kMaxSidePx) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a picture of {}×{} pixels; accepted: sides from 1 to {}", width,
                            height, kMaxSidePx));
  }
  if (!(o.min_area > 0 && o.min_area <= o.max_area && o.max_area <= 1)) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("areas from {} to {}; accepted: 0 < min_area ≤ max_area ≤ 1",
                            o.min_area, o.max_area));
  }
  if (!(o.min_ratio > 0 && o.min_ratio <= o.max_ratio && std::isfinite(o.max_ratio))) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("ratios from {} to {}; accepted: 0 < min_ratio ≤ max_ratio, finite",
                            o.min_ratio, o.max_ratio));
  }
  return {};
}

}  // namespace

Result<CropBox> random_resized_crop(std::int32_t width_px, std::int32_t height_px,
                                    const SampleKey& key, const RandomCropOptions& options) {
  if (auto good = check(width_px, height_px, options); !good) return fail(good.error());
  const double area = static_cast<double>(width_px) * height_px;
  const double low = std::log(options.min_ratio);
  const double high = std::log(options.max_ratio);
  for (std::uint32_t i = 0; i < kTries; ++i) {
    const auto random = draw(key, i);
    const double wanted = area * uniform(random[0], options.min_area, options.max_area);
    const double ratio = std::exp(uniform(random[1], low, high));
    // Compared as floating-point numbers: extreme ratios give sides that no integer holds.
    const double width = std::nearbyint(std::sqrt(wanted * ratio));
    const double height = std::nearbyint(std::sqrt(wanted / ratio));
    if (!(width >= 1 && width <= width_px && height >= 1 && height <= height_px)) continue;
    CropBox box{0, 0, static_cast<std::int32_t>(width), static_cast<std::int32_t>(height)};
    box.top_px = below(random[2], height_px - box.height_px + 1);
    box.left_px = below(random[3], width_px - box.width_px + 1);
    return box;
  }
  return fallback(width_px, height_px, options);
}

bool random_flip(const SampleKey& key, double probability) noexcept {
  return static_cast<double>(draw(key, kFlipBlock)[0]) < probability * 0x1p32;
}

Result<CropBox> center_crop(std::int32_t width_px, std::int32_t height_px,
                            std::int32_t box_width_px, std::int32_t box_height_px) {
  if (box_width_px < 1 || box_height_px < 1 || box_width_px > width_px ||
      box_height_px > height_px) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a crop of {}×{} pixels in the middle of {}×{}; accepted: 1×1 to the "
                            "whole picture",
                            box_width_px, box_height_px, width_px, height_px));
  }
  return CropBox{round_half_even((width_px - box_width_px) / 2.0),
                 round_half_even((height_px - box_height_px) / 2.0), box_width_px, box_height_px};
}

Result<CropBox> center_crop_to_shape(std::int32_t picture_width_px, std::int32_t picture_height_px,
                                     std::int32_t width_px, std::int32_t height_px) {
  if (std::min({picture_width_px, picture_height_px, width_px, height_px}) < 1) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a picture of {}×{} and a shape of {}×{} pixels; accepted: sides of 1 "
                            "or more",
                            picture_width_px, picture_height_px, width_px, height_px));
  }
  const double scale = std::min(static_cast<double>(picture_width_px) / width_px,
                                static_cast<double>(picture_height_px) / height_px);
  const auto side = [scale](std::int32_t shape_px, std::int32_t picture_px) {
    return std::clamp(round_half_even(shape_px * scale), 1, picture_px);
  };
  return center_crop(picture_width_px, picture_height_px, side(width_px, picture_width_px),
                     side(height_px, picture_height_px));
}

}  // namespace framewire
