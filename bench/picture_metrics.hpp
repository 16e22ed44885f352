// PSNR and SSIM between two 8-bit pictures.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace framewire::bench {

/// Peak signal-to-noise ratio in dB; infinite for equal pictures.
inline double psnr(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    sum += d * d;
  }
  if (sum == 0) return std::numeric_limits<double>::infinity();
  return 10.0 * std::log10(255.0 * 255.0 * static_cast<double>(a.size()) / sum);
}

/// Gaussian blur, σ = 1.5, 11 taps, edges repeated.
inline std::vector<double> blur_for_ssim(const std::vector<double>& in, std::size_t width,
                                         std::size_t height) {
  constexpr int kRadius = 5;
  std::array<double, 2 * kRadius + 1> taps{};
  double total = 0;
  for (int i = -kRadius; i <= kRadius; ++i) {
    total += taps[static_cast<std::size_t>(i + kRadius)] = std::exp(-i * i / 4.5);
  }
  const auto clamped = [](std::ptrdiff_t v, std::size_t size) {
    return static_cast<std::size_t>(
        std::min(std::max<std::ptrdiff_t>(v, 0), static_cast<std::ptrdiff_t>(size) - 1));
  };
  const auto pass = [&](const std::vector<double>& from, bool along_x) {
    std::vector<double> to(from.size());
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        double sum = 0;
        for (int i = -kRadius; i <= kRadius; ++i) {
          const std::size_t sx = along_x ? clamped(static_cast<std::ptrdiff_t>(x) + i, width) : x;
          const std::size_t sy = along_x ? y : clamped(static_cast<std::ptrdiff_t>(y) + i, height);
          sum += taps[static_cast<std::size_t>(i + kRadius)] * from[sy * width + sx];
        }
        to[y * width + x] = sum / total;
      }
    }
    return to;
  };
  return pass(pass(in, true), false);
}

/// Structural similarity of one plane.
/// Source: Wang, Bovik, Sheikh, Simoncelli, IEEE TIP 13(4), 2004.
inline double ssim(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                   std::size_t width, std::size_t height) {
  const std::size_t n = width * height;
  std::vector<double> x(a.begin(), a.end()), y(b.begin(), b.end()), xx(n), yy(n), xy(n);
  for (std::size_t i = 0; i < n; ++i) {
    xx[i] = x[i] * x[i];
    yy[i] = y[i] * y[i];
    xy[i] = x[i] * y[i];
  }
  x = blur_for_ssim(x, width, height);
  y = blur_for_ssim(y, width, height);
  xx = blur_for_ssim(xx, width, height);
  yy = blur_for_ssim(yy, width, height);
  xy = blur_for_ssim(xy, width, height);
  constexpr double kC1 = 0.01 * 255 * 0.01 * 255;
  constexpr double kC2 = 0.03 * 255 * 0.03 * 255;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double vx = xx[i] - x[i] * x[i];
    const double vy = yy[i] - y[i] * y[i];
    const double cov = xy[i] - x[i] * y[i];
    sum += (2 * x[i] * y[i] + kC1) * (2 * cov + kC2) /
           ((x[i] * x[i] + y[i] * y[i] + kC1) * (vx + vy + kC2));
  }
  return sum / static_cast<double>(n);
}

}  // namespace framewire::bench
