// Unsharp mask: adds back what a Gaussian blur takes away.
//
// Source: the classic darkroom technique; out = in + amount · (in − blurred), amount 1. The blur is
// separable, truncated at 3σ and normalised to sum 1; samples beyond the edge repeat it.
#pragma once

#include <base/clock.hpp>
#include <cstdint>
#include <span>
#include <transform/unsharp.hpp>
#include <vector>

namespace framewire::transform {

/// The blur's weights, [2 · gaussian_radius(sigma) + 1], symmetric, sum 1. sigma > 0.
[[nodiscard]] std::vector<double> gaussian_weights(double sigma);

/// Sharpens one plane in place, in double precision, rounding half up once.
/// @param samples  host, [height_px][width_px] uint8; width_px, height_px ≥ 1; sigma > 0
/// @param deadline  looked at after each row
/// @return false where the deadline passed; some rows are not sharpened then
/// @cost 2 · (2⌈3σ⌉ + 1) multiplications a sample; allocates 2⌈3σ⌉ + 3 rows of double
[[nodiscard]] bool sharpen_plane(std::span<std::uint8_t> samples, std::int32_t width_px,
                                 std::int32_t height_px, double sigma,
                                 const base::Deadline& deadline = {});

}  // namespace framewire::transform
