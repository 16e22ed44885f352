#include <algorithm>
#include <transform/sharpen.hpp>

namespace framewire::transform {

std::vector<double> gaussian_weights(double sigma) {
  const int radius = gaussian_radius(sigma);
  std::vector<double> weights(static_cast<std::size_t>(2 * radius + 1));
  double sum = 0.0;
  for (int i = -radius; i <= radius; ++i) {
    const double weight = std::exp(-0.5 * i * i / (sigma * sigma));
    weights[static_cast<std::size_t>(i + radius)] = weight;
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

void sharpen_plane(std::span<std::uint8_t> samples, std::int32_t width_px, std::int32_t height_px,
                   double sigma) {
  const std::vector<double> weights = gaussian_weights(sigma);
  const int radius = gaussian_radius(sigma);
  const auto width = static_cast<std::size_t>(width_px);
  std::vector<double> across(samples.size());
  for (std::int32_t y = 0; y < height_px; ++y) {
    const std::uint8_t* row = &samples[y * width];
    for (std::int32_t x = 0; x < width_px; ++x) {
      double sum = 0.0;
      for (int i = -radius; i <= radius; ++i) {
        sum += weights[static_cast<std::size_t>(i + radius)] *
               row[std::clamp<std::int32_t>(x + i, 0, width_px - 1)];
      }
      across[y * width + x] = sum;
    }
  }
  for (std::int32_t y = 0; y < height_px; ++y) {
    for (std::int32_t x = 0; x < width_px; ++x) {
      double blurred = 0.0;
      for (int i = -radius; i <= radius; ++i) {
        blurred += weights[static_cast<std::size_t>(i + radius)] *
                   across[std::clamp<std::int32_t>(y + i, 0, height_px - 1) * width + x];
      }
      std::uint8_t& sample = samples[y * width + x];
      const double sharpened = std::floor(unsharp<double>(sample, blurred) + 0.5);
      sample = static_cast<std::uint8_t>(std::clamp(sharpened, 0.0, 255.0));
    }
  }
}

}  // namespace framewire::transform
