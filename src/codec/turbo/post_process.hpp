// What happens to whole planes between resampling and encoding.
#pragma once

#include <codec/codec.hpp>

namespace framewire::codec::turbo {

/// Whether post_process() would change anything; if not, rows may go straight to the encoder.
[[nodiscard]] bool needs_post_process(const plan::Plan& plan);

/// Sharpens luma, turns the planes upright, and pads them with the background.
/// @param planes  resized planes in stored orientation, at the output's own sampling
/// @return deadline, where that passes while luma is sharpened
[[nodiscard]] Result<Planes> post_process(Planes planes, const plan::Plan& plan,
                                          const base::Deadline& deadline = {});

}  // namespace framewire::codec::turbo
