#include <algorithm>
#include <array>
#include <cmath>
#include <transform/sharpen.hpp>

namespace framewire::transform {
namespace {

/// Samples that are blurred together: their sums stay in registers.
constexpr std::size_t kTogether = 8;

std::size_t padded(std::size_t width) { return (width + kTogether - 1) / kTogether * kTogether; }

/// Sums rows by their weights, in the order of the weights.
/// @param row  row(i): where the i-th row begins
/// @param out  [width], a multiple of kTogether, as is every row's size
template <typename Row>
void sum_rows(const std::vector<double>& weights, Row row, std::size_t width, double* out) {
  for (std::size_t x = 0; x < width; x += kTogether) {
    std::array<double, kTogether> sums{};
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double* in = row(i) + x;
      for (std::size_t j = 0; j < kTogether; ++j) sums[j] += weights[i] * in[j];
    }
    std::copy(sums.begin(), sums.end(), out + x);
  }
}

}  // namespace

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

bool sharpen_plane(std::span<std::uint8_t> samples, std::int32_t width_px, std::int32_t height_px,
                   double sigma, const base::Deadline& deadline) {
  const std::vector<double> weights = gaussian_weights(sigma);
  const std::int32_t radius = gaussian_radius(sigma);
  const auto width = static_cast<std::size_t>(width_px);
  const std::size_t pitch = padded(width);
  std::vector<double> extended(pitch + weights.size() - 1);  // a row, and its edges repeated
  std::vector<double> blurred(pitch);
  // Rows blurred across, as many as one output row takes: row y lies at y modulo their number.
  const std::int32_t row_count = std::min(2 * radius + 1, height_px);
  std::vector<double> across(static_cast<std::size_t>(row_count) * pitch);
  const auto row_across = [&](std::int32_t y) {
    return across.data() + static_cast<std::size_t>(y % row_count) * pitch;
  };
  std::int32_t rows_done = 0;
  for (std::int32_t y = 0; y < height_px; ++y) {
    for (; rows_done <= std::min(y + radius, height_px - 1); ++rows_done) {
      const std::uint8_t* row = &samples[static_cast<std::size_t>(rows_done) * width];
      const auto begin = extended.begin() + radius;
      std::fill(extended.begin(), begin, row[0]);
      std::fill(std::copy(row, row + width, begin), extended.end(), row[width - 1]);
      sum_rows(
          weights, [&](std::size_t i) { return extended.data() + i; }, pitch,
          row_across(rows_done));
    }
    const auto row_at = [&](std::size_t i) -> const double* {
      return row_across(
          std::clamp<std::int32_t>(y + static_cast<std::int32_t>(i) - radius, 0, height_px - 1));
    };
    sum_rows(weights, row_at, pitch, blurred.data());
    for (std::size_t x = 0; x < width; ++x) {
      std::uint8_t& sample = samples[static_cast<std::size_t>(y) * width + x];
      const double sharpened = std::floor(unsharp<double>(sample, blurred[x]) + 0.5);
      sample = static_cast<std::uint8_t>(std::clamp(sharpened, 0.0, 255.0));
    }
    if (y + 1 < height_px && deadline.passed()) return false;
  }
  return true;
}

}  // namespace framewire::transform
