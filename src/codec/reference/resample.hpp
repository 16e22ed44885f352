// From decoded planes to the planes that the encoder takes: every stage at 8 bits, each in double
// precision and rounded once.
#pragma once

#include <codec/codec.hpp>
#include <plan/plan.hpp>

namespace framewire::codec::reference {

/// Filters both axes in double precision, then rounds half up and clamps.
[[nodiscard]] Plane resample(const Plane& in, const plan::PlanePlan& plan, Kernel kernel);

/// Turns a plane as displayed; see transform::stored_position().
[[nodiscard]] Plane orient(const Plane& in, int orientation);

/// Sets `in` into a canvas of one value, at (x_px, y_px).
[[nodiscard]] Plane pad(const Plane& in, std::int32_t width_px, std::int32_t height_px,
                        std::int32_t x_px, std::int32_t y_px, std::uint8_t background);

/// Mean of each step_x × step_y box, rounded half up; boxes at the edge count what is there.
[[nodiscard]] Plane box_average(const Plane& in, int step_x, int step_y);

/// All stages of a plan between decode and encode. Order: resample, colour, sharpen, orient,
/// subsample, pad; so a chroma sample that the picture only half covers is the picture's.
/// @param decoded  as decode() gives under plan.scales
/// @return internal where planes and plan disagree; deadline
[[nodiscard]] Result<Planes> make_output_planes(const Planes& decoded, const plan::Plan& plan,
                                                const Context& context);

}  // namespace framewire::codec::reference
