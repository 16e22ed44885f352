// Per-pixel colour: from a file's own components to what the encoder writes.
#pragma once

#include <color/pixel_table.hpp>
#include <cstdint>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <memory>
#include <plan/plan.hpp>
#include <span>
#include <vector>

namespace framewire::color {

/// What the file's ICC profile is good for.
enum class ProfileUse : std::uint8_t {
  kNone,         ///< no profile
  kIsSrgb,       ///< sRGB by its numbers (primaries and curves), whatever its name
  kConvertible,  ///< usable and not sRGB
  kUnusable,     ///< damaged, or for another number of channels: ignored with a warning
};
[[nodiscard]] ProfileUse classify_profile(const jpeg::JpegFile& file);

/// Converts rows of full-resolution samples. Immutable after make(); safe on many threads at once.
class Converter {
 public:
  /// Four-component files without a profile take the plain formula R = (1 − C)(1 − K).
  /// @param model  what the encoder writes; kCmyk only from a 4-component file (no ICC then)
  /// @param use_icc  run the file's profile to sRGB (perceptual intent, black point compensation)
  /// @return invalid_input where the profile cannot be opened
  [[nodiscard]] static Result<Converter> make(const jpeg::JpegFile& file, plan::OutputModel model,
                                              bool use_icc);
  Converter(Converter&&) noexcept;
  Converter& operator=(Converter&&) noexcept;
  ~Converter();

  [[nodiscard]] int input_components() const noexcept;
  [[nodiscard]] int output_components() const noexcept;

  /// @param in   host, input_components() rows of [width_px] uint8, the file's own components
  ///             (YCbCr, RGB, YCCK, CMYK as stored, inverted or not, or gray)
  /// @param out  host, output_components() rows of [width_px] uint8: gray, YCbCr (JFIF full range)
  ///             or CMYK (Adobe inverted); may not alias `in`
  void convert_row(std::span<const std::uint8_t* const> in, std::span<std::uint8_t* const> out,
                   std::int32_t width_px) const;

  /// The profile as a table, for those who convert without this object. Made at the first call,
  /// by whichever thread comes first; others wait for it. Lives as long as the converter.
  /// @return null without a profile, or where LittleCMS makes no transform to sample
  /// @cost of the first call as make_pixel_table()
  [[nodiscard]] const PixelTable* table() const;

  /// Bound on the memory that the converter holds, its table included, whether made yet or not.
  [[nodiscard]] std::size_t max_bytes() const noexcept;

 private:
  struct State;
  explicit Converter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace framewire::color
