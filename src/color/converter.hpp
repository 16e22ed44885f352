// Per-pixel colour: from a file's own components to what the encoder writes.
#pragma once

#include <color/profile_conversion.hpp>
#include <cstdint>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <memory>
#include <plan/plan.hpp>
#include <span>

namespace framewire::color {

/// Reads the profile anew each time; engines keep ProfileConversions instead.
[[nodiscard]] ProfileUse classify_profile(const jpeg::JpegFile& file);

/// Converts rows of full-resolution samples. Immutable; safe on many threads at once. Costs nothing
/// to make where the profile's conversion is there already.
class Converter {
 public:
  /// Four-component files without a profile take the plain formula R = (1 − C)(1 − K).
  /// @param model       what the encoder writes; kCmyk only from a 4-component file (no ICC then)
  /// @param conversion  runs the file's profile to sRGB, and is for as many channels as the file
  ///                    has; null: none is run
  Converter(const jpeg::JpegFile& file, plan::OutputModel model,
            std::shared_ptr<const ProfileConversion> conversion = nullptr) noexcept;
  /// The same for a file by itself: reads its profile and prepares the host's side.
  /// @param use_icc  run the file's profile to sRGB (perceptual intent, black point compensation)
  /// @return invalid_input where the profile cannot be opened
  [[nodiscard]] static Result<Converter> make(const jpeg::JpegFile& file, plan::OutputModel model,
                                              bool use_icc);

  [[nodiscard]] int input_components() const noexcept;
  [[nodiscard]] int output_components() const noexcept;

  /// @param in   host, input_components() rows of [width_px] uint8, the file's own components
  ///             (YCbCr, RGB, YCCK, CMYK as stored, inverted or not, or gray)
  /// @param out  host, output_components() rows of [width_px] uint8: gray, YCbCr (JFIF full range)
  ///             or CMYK (Adobe inverted); may not alias `in`
  void convert_row(std::span<const std::uint8_t* const> in, std::span<std::uint8_t* const> out,
                   std::int32_t width_px) const;

  /// The profile as a table, for those who convert without this object: ProfileConversion::table().
  /// @return null without a profile, or where LittleCMS makes no transform to sample
  [[nodiscard]] const PixelTable* table() const;

 private:
  void load(std::span<const std::uint8_t* const> in, std::int32_t at, std::int32_t count,
            std::uint8_t* pixels) const;
  void to_device_rgb(std::int32_t count, const std::uint8_t* pixels, std::uint8_t* rgb) const;
  void store(const std::uint8_t* rgb, std::span<std::uint8_t* const> out, std::int32_t at,
             std::int32_t count) const;

  jpeg::ColorModel input_;
  plan::OutputModel output_;
  bool stored_inverted_;  ///< Adobe's convention: 0 is full ink
  int device_components_;
  std::shared_ptr<const ProfileConversion> conversion_;
};

}  // namespace framewire::color
