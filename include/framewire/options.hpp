// The one grammar of options: the same words on the command line, in manifests and over HTTP.
#pragma once

#include <array>
#include <cstdint>
#include <framewire/export.hpp>
#include <framewire/image.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace framewire {

/// How the requested size and the image's aspect ratio are reconciled. See docs/geometry.md.
enum class ResizeMode : std::uint8_t { kFit, kFill, kFillDown, kForce, kAuto };
/// Resampling kernels; all are stretched by the scale when shrinking.
enum class Kernel : std::uint8_t { kLanczos3, kBicubic, kBilinear, kArea, kNearest };
/// Chroma sampling of the output; kKeep takes the input's where the encoder can write it.
enum class Sampling : std::uint8_t { kKeep, k444, k422, k420, k440, kGray };
enum class Metadata : std::uint8_t { kStrip, kCopyright, kKeep };
enum class ColorMode : std::uint8_t { kSrgb, kKeep };
enum class GainMap : std::uint8_t { kKeep, kDrop };
/// By how much the upright picture is turned, clockwise.
enum class Rotation : std::uint8_t { kNone, k90, k180, k270 };
/// Which way the picture is mirrored, after it was turned; kHorizontal exchanges left and right.
enum class Flip : std::uint8_t { kNone, kHorizontal, kVertical, kBoth };

/// Which part of the image survives a crop, or where the image lies in a larger canvas: an anchor
/// with an offset, or a focus point in [0, 1]².
struct Gravity {
  enum class Anchor : std::uint8_t { kNo, kSo, kEa, kWe, kNoEa, kNoWe, kSoEa, kSoWe, kCe, kFocus };
  Anchor anchor = Anchor::kCe;
  double focus_x = 0.5;  ///< only for kFocus; 0 is the left edge, 1 the right
  double focus_y = 0.5;  ///< only for kFocus; 0 is the top edge, 1 the bottom
  /// Not for kFocus. From the anchored edge inwards, from the centre to the right and down. From 1
  /// on in magnitude a number of pixels, times dpr where it applies; below 1 a part of the side.
  double offset_x = 0;
  double offset_y = 0;
};

/// Pixels of background at each side of the picture, before dpr.
struct Padding {
  std::int32_t top_px = 0;
  std::int32_t right_px = 0;
  std::int32_t bottom_px = 0;
  std::int32_t left_px = 0;
  friend bool operator==(const Padding&, const Padding&) = default;
};

/// Checked before anything is allocated for the image.
struct Limits {
  std::uint64_t max_input_bytes = 64ull << 20;
  std::uint64_t max_input_pixels = 100'000'000;
  std::uint32_t max_scans = 100;
  /// Width × height × number of scans of one file.
  std::uint64_t max_scan_pixels = 1'000'000'000;
  std::int32_t max_output_side_px = 16'384;
  std::uint64_t max_output_pixels = 50'000'000;
  /// Wall time of one image, milliseconds; 0 means none.
  std::uint32_t deadline_ms = 30'000;
};

/// Everything that shapes one output. Defaults are visible here and nowhere else.
struct ResizeOptions {
  std::int32_t width_px = 0;   ///< 0: follows from the height and the aspect ratio
  std::int32_t height_px = 0;  ///< 0: follows from the width and the aspect ratio
  ResizeMode resize = ResizeMode::kFit;
  bool enlarge = false;
  std::int32_t min_width_px = 0;   ///< 0: none; a smaller picture grows, whatever `enlarge` says
  std::int32_t min_height_px = 0;  ///< 0: none
  /// 0: none. An output with a longer side is made smaller until it fits; Limits refuse it instead.
  std::int32_t max_result_side_px = 0;
  /// Applied before resizing, to the turned picture. 0: the whole side. Below 1: a part of the
  /// side; from 1 on: pixels, rounded down.
  double crop_width = 0;
  double crop_height = 0;
  std::optional<Gravity> crop_gravity;  ///< where the crop lies; none: `gravity` says it
  Gravity gravity;
  double zoom_x = 1.0;  ///< multiplies width_px, and the picture's width without one
  double zoom_y = 1.0;
  double dpr = 1.0;  ///< multiplies both sides, offsets and padding; see docs/geometry.md
  Rotation rotate = Rotation::kNone;
  Flip flip = Flip::kNone;
  /// Adds background up to width × height; the gravity says where the picture lies in it.
  std::optional<Gravity> extend;
  /// Adds background at two sides, up to the shape of width × height.
  std::optional<Gravity> extend_aspect_ratio;
  Padding padding;
  /// `background` was asked for. Alone, it adds background up to width × height as `extend` does,
  /// placed by `gravity`; beside extend, extend_aspect_ratio or padding it is their colour only.
  bool has_background = false;
  std::array<std::uint8_t, 3> background{255, 255, 255};  ///< sRGB
  Kernel kernel = Kernel::kLanczos3;
  double sharpen_sigma = 0;  ///< unsharp mask on luma, in output pixels; 0 is off
  int quality = 80;          ///< 1 to 100, the IJG scale
  Sampling sampling = Sampling::k420;
  bool progressive = false;
  bool optimize_huffman = false;
  std::int32_t restart_interval_mcus = 0;  ///< 0: none
  std::uint64_t max_bytes = 0;             ///< 0: no bound; otherwise quality is lowered to meet it
  /// Encode also a picture that needs no change and whose original is smaller than what we would
  /// make of it; otherwise the original is handed on. See docs/engine.md.
  bool always_encode = false;
  Metadata metadata = Metadata::kStrip;
  bool auto_orient = true;
  ColorMode color = ColorMode::kSrgb;
  GainMap gain_map = GainMap::kKeep;
  CodecKind codec = CodecKind::kAuto;
  bool strict = false;  ///< refuse input that decodes only with warnings
  Limits limits;
};

/// One row of the grammar: drives the command line, completion, the man page and HTTP.
struct OptionSpec {
  std::string_view name;           ///< without dashes: "size"
  std::string_view metavar;        ///< "WxH"; empty for a flag
  std::string_view choices;        ///< "fit|fill|…" where the value is one of a few words
  std::string_view default_value;  ///< as it would be written; empty where there is none
  std::string_view help;           ///< one line
  std::string_view group;          ///< heading under which to show it: "Size", "Encoding", …
};

/// Every option, in the order in which to show them. Static storage.
[[nodiscard]] FRAMEWIRE_API std::span<const OptionSpec> option_specs() noexcept;

/// Sets one option from its text. A flag takes "", "true" or "false"; "no-auto-orient" is a flag.
/// @return invalid_input naming the option, what was found and what would be accepted; on error
///         `options` is unchanged
[[nodiscard]] FRAMEWIRE_API Result<void> set_option(ResizeOptions& options, std::string_view name,
                                                    std::string_view value);

/// Checks values set from code against the grammar, and what one option alone cannot tell
/// (background without both sides of size). The output's size is checked when it is known.
/// @return invalid_input naming the option
[[nodiscard]] FRAMEWIRE_API Result<void> validate(const ResizeOptions& options);

/// The options that differ from the defaults, "name=value" joined by spaces, in the order of
/// option_specs(). Feeding each back through set_option() gives equal options.
[[nodiscard]] FRAMEWIRE_API std::string to_string(const ResizeOptions& options);

/// Hash of everything that can change the output bytes (not limits, not codec), 16 hex digits.
[[nodiscard]] FRAMEWIRE_API std::string output_hash(const ResizeOptions& options);

}  // namespace framewire
