// What an image of a batch should be, in obvious code and double precision, from libjpeg-turbo's
// own decode: the judge of framewire::TensorDecoder.
#pragma once

#include <cstdint>
#include <framewire/tensor.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire::conformance {

/// Samples from 0 to 255, not rounded: [channel][y][x].
struct TwinImage {
  int channels = 0;
  int width = 0;
  int height = 0;
  std::vector<double> samples;
  [[nodiscard]] double& at(int c, int y, int x) {
    return samples[(static_cast<std::size_t>(c) * height + y) * width + x];
  }
  [[nodiscard]] double at(int c, int y, int x) const {
    return samples[(static_cast<std::size_t>(c) * height + y) * width + x];
  }
};

/// The whole picture in the wanted channels, EXIF applied where options say so.
/// @return nothing where libjpeg refuses the file
[[nodiscard]] std::optional<TwinImage> twin_picture(std::span<const std::uint8_t> jpeg,
                                                    const TensorOptions& options);

/// Crop, resize, clamp, flip: what Pillow or, without antialias, torch would do. Not rounded to
/// whole levels, since at a half either neighbour is right.
[[nodiscard]] TwinImage twin_resize(const TwinImage& picture, const TensorItem& item,
                                    const TensorOptions& options);

/// The planes of the file filtered at their own sampling and scale, converted once; YCbCr and gray
/// files only, not rounded. Crops count in the picture as stored.
[[nodiscard]] TwinImage twin_fast(std::span<const std::uint8_t> jpeg, const TensorItem& item,
                                  const TensorOptions& options);

/// How far a decoded image lies from the twin.
struct TwinDistance {
  double largest = 0;  ///< levels of 8 bits
  double mean = 0;
};

/// Reads one image of a batch back as samples: undoes layout, type and normalisation.
[[nodiscard]] TwinImage read_back(const void* image, const TensorOptions& options);
[[nodiscard]] TwinDistance distance(const TwinImage& a, const TwinImage& b);

}  // namespace framewire::conformance
