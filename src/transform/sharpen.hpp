// Unsharp mask: adds back what a Gaussian blur takes away.
//
// Source: the classic darkroom mask; out = in + amount · (in − blurred), amount 1. The blur is
// separable, truncated at 3σ and normalised to sum 1; samples beyond the edge repeat it.
#pragma once

#include <base/host_device.hpp>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace framewire::transform {

inline constexpr double kSharpenAmount = 1.0;

/// Taps on either side of the centre: ⌈3σ⌉.
FW_HD inline int gaussian_radius(double sigma) { return static_cast<int>(std::ceil(3.0 * sigma)); }

/// The mask's answer for one sample, neither rounded nor clamped.
template <typename T>
FW_HD constexpr T unsharp(T sample, T blurred) {
  return sample + T(kSharpenAmount) * (sample - blurred);
}

/// The blur's weights, [2 · gaussian_radius(sigma) + 1], symmetric, sum 1. sigma > 0.
[[nodiscard]] std::vector<double> gaussian_weights(double sigma);

/// Sharpens one plane in place, in double precision, rounding half up once.
/// @param samples  host, [height_px][width_px] uint8; width_px, height_px ≥ 1; sigma > 0
/// @cost 2 · (2⌈3σ⌉ + 1) multiplications a sample; allocates one plane of double
void sharpen_plane(std::span<std::uint8_t> samples, std::int32_t width_px, std::int32_t height_px,
                   double sigma);

}  // namespace framewire::transform
