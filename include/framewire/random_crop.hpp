// Crops and flips for training: torchvision's distributions, reproducible wherever they are drawn.
#pragma once

#include <cstdint>
#include <framewire/export.hpp>
#include <framewire/status.hpp>
#include <framewire/tensor.hpp>

namespace framewire {

/// Names one sample of one epoch. Draws depend on nothing else: not on the batch, the worker, the
/// rank or the order in which samples come.
struct SampleKey {
  std::uint64_t seed = 0;    ///< of the whole training
  std::uint32_t epoch = 0;   ///< count it up, so that a sample gets another crop each time
  std::uint64_t sample = 0;  ///< the sample's number in the data set
};

/// How random_resized_crop() draws; the defaults are torchvision's.
struct RandomCropOptions {
  double min_area = 0.08;        ///< of the picture's area, as a part of it
  double max_area = 1.0;         ///< at most 1
  double min_ratio = 3.0 / 4.0;  ///< width : height
  double max_ratio = 4.0 / 3.0;
};

/// Draws a box as torchvision.transforms.RandomResizedCrop does: an area uniformly, a ratio
/// log-uniformly, sides round(sqrt(area × ratio)) and round(sqrt(area / ratio)), halves to the even
/// number, and a place uniformly; after ten boxes that do not fit, the largest one in the middle
/// whose ratio is allowed.
///
/// The distribution is torchvision's, the boxes for a seed are not: those come from Philox4x32-10
/// with the seed as its key, and sample, epoch and try as its counter.
/// @param width_px, height_px  of the picture, upright where the decoder applies EXIF; from 1 to
/// 2²⁴
/// @return invalid_input for sides outside of that range, for areas that are not 0 < min ≤ max ≤ 1,
///         and for ratios that are not 0 < min ≤ max and finite
/// @accuracy tests/unit/tensor/random_crop_test.cpp compares 10⁶ draws with torchvision's algorithm
/// Thread safety: a pure function.
[[nodiscard]] FRAMEWIRE_API Result<CropBox> random_resized_crop(
    std::int32_t width_px, std::int32_t height_px, const SampleKey& key,
    const RandomCropOptions& options = {});

/// Whether to flip the sample, with this probability; independent of its crop. A pure function.
/// @param probability  0 and less: never; 1 and more: always
[[nodiscard]] FRAMEWIRE_API bool random_flip(const SampleKey& key,
                                             double probability = 0.5) noexcept;

/// The box in the middle, as torchvision.transforms.CenterCrop places it: at round((side − box) /
/// 2), halves to the even number. A pure function.
/// @return invalid_input where the box is empty or larger than the picture, which torchvision pads
[[nodiscard]] FRAMEWIRE_API Result<CropBox> center_crop(std::int32_t width_px,
                                                        std::int32_t height_px,
                                                        std::int32_t box_width_px,
                                                        std::int32_t box_height_px);

/// The largest box in the middle that has the shape of width_px × height_px: with it Resize(side)
/// and CenterCrop(side) become one step. Its other side is rounded, halves to the even number, and
/// at least 1. A pure function.
/// @param picture_width_px, picture_height_px  at least 1 @param width_px, height_px  at least 1
/// @return invalid_input for a side below 1
[[nodiscard]] FRAMEWIRE_API Result<CropBox> center_crop_to_shape(std::int32_t picture_width_px,
                                                                 std::int32_t picture_height_px,
                                                                 std::int32_t width_px,
                                                                 std::int32_t height_px);

}  // namespace framewire
