// One profile's way to sRGB, shared by all files that carry the profile.
#pragma once

#include <color/pixel_table.hpp>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <memory>
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

/// Who converts: the CPU by to_srgb(), or a device by table().
enum class Side : std::uint8_t { kHost, kDevice };

/// Device channels of a file: gray 1, CMYK and YCCK 4, else 3.
[[nodiscard]] int device_channels(jpeg::ColorModel model) noexcept;

/// What a profile is good for, and its conversion. A profile of curves and a matrix, or gray with a
/// curve, is ready at once, without LittleCMS (shaper.hpp). Others are prepared with LittleCMS, for
/// each side when it is first needed. Safe on many threads at once.
class ProfileConversion {
 public:
  /// Finds out what a profile is good for.
  /// @param reduced   what reduce_profile() has left; kept
  /// @param channels  of the file's device values: 1, 3 or 4
  /// @cost µs for simple profiles, some 100 µs where LittleCMS has to look. Throws std::bad_alloc
  ProfileConversion(std::vector<std::uint8_t> reduced, int channels);
  ~ProfileConversion();
  ProfileConversion(const ProfileConversion&) = delete;
  ProfileConversion& operator=(const ProfileConversion&) = delete;

  [[nodiscard]] ProfileUse use() const noexcept { return use_; }
  [[nodiscard]] int channels() const noexcept { return channels_; }
  [[nodiscard]] std::span<const std::uint8_t> reduced() const noexcept { return reduced_; }

  /// Whether prepare() would return at once.
  [[nodiscard]] bool ready(Side side) const noexcept;
  /// Makes what one side converts with, once; other callers wait for the first.
  /// @return invalid_input where LittleCMS makes no transform. Throws std::bad_alloc: the next call
  ///         tries again
  /// @cost where not ready(): 2 ms for curves and a matrix with a black that is not 0; tens of ms
  /// for
  ///       lookup tables
  [[nodiscard]] Result<void> prepare(Side side) const;

  /// Prepares the host's side where it is not ready; where that fails, copies gray and paints
  /// colours black.
  /// @param pixels  host, [count][channels] uint8: gray, RGB, or CMYK with 255 for full ink
  /// @param out     host, [count] gray or [count][3] RGB
  void to_srgb(const std::uint8_t* pixels, std::uint8_t* out, std::int32_t count) const;
  /// Prepares the device's side where it is not ready. Lives as long as this.
  /// @return null where prepare() fails
  [[nodiscard]] const PixelTable* table() const;

  /// Memory that this holds now. It grows with prepare(), and never else.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Prepared;

  [[nodiscard]] Result<void> make(Side side) const;
  [[nodiscard]] ProfileUse classify();

  std::vector<std::uint8_t> reduced_;
  int channels_ = 0;
  ProfileUse use_ = ProfileUse::kUnusable;
  PixelTable simple_;  ///< kShaper or kCurve: ready from the start
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace framewire::color
