// Owners for LittleCMS handles, and the profiles that Framewire makes itself.
#pragma once

#include <lcms2.h>
#include <cstdint>
#include <memory>
#include <span>

namespace framewire::color {

struct CloseProfile {
  void operator()(void* profile) const noexcept { cmsCloseProfile(profile); }
};
using Profile = std::unique_ptr<void, CloseProfile>;

struct DeleteTransform {
  void operator()(void* transform) const noexcept { cmsDeleteTransform(transform); }
};
using Transform = std::unique_ptr<void, DeleteTransform>;

/// Opens what reduce_profile() leaves of a file's profile; LittleCMS sees no other bytes of a file.
/// @return null where reduce_profile() refuses, or LittleCMS cannot read the bytes
[[nodiscard]] Profile open_profile(std::span<const std::uint8_t> icc);

/// The same of what reduce_profile() has left already.
[[nodiscard]] Profile open_reduced_profile(std::span<const std::uint8_t> reduced);

/// Perceptual intent and black point compensation, as everywhere in Framewire; samples of 8 bits.
/// @param channels  of the device values: 1, 3 or 4
/// @return null where LittleCMS makes none
/// @cost tens of ms for lookup tables, which LittleCMS resamples
[[nodiscard]] Transform make_transform(std::span<const std::uint8_t> reduced, int channels);

/// sRGB (IEC 61966-2-1); make_srgb_gray() is gray with sRGB's tone curve and white.
[[nodiscard]] Profile make_srgb();
[[nodiscard]] Profile make_srgb_gray();

/// The tone curve of sRGB: linear 0–1 to encoded 0–1.
[[nodiscard]] double linear_to_srgb(double linear) noexcept;

}  // namespace framewire::color
