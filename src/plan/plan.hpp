// From what a file is and what is wanted to every size, offset and stage; decides, touches nothing.
#pragma once

#include <array>
#include <cstdint>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>

namespace framewire::plan {

/// N of the N/8 scaled decode of each component: 8 or one of kReducedScales.
using Scales = std::array<int, jpeg::kMaxComponents>;
inline constexpr Scales kFullScale{8, 8, 8, 8};
inline constexpr std::array<int, 5> kReducedScales{1, 2, 4, 5, 6};

struct Rect {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::int32_t width = 0;
  std::int32_t height = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
};

/// A part of a picture in its pixels, at any place between them.
struct SourceRect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  friend bool operator==(const SourceRect&, const SourceRect&) = default;
};

/// One axis of one plane's resampling. Sample k of the input plane covers [k, k + 1); output sample
/// j has its centre at origin + (j + ½) × step, in input samples. Samples outside [0, in_size) take
/// the edge sample's value.
struct AxisMap {
  std::int32_t in_size = 0;
  std::int32_t out_size = 0;
  double origin = 0;
  double step = 1;
  friend bool operator==(const AxisMap&, const AxisMap&) = default;
};

/// One output plane before orientation, and the input component that it comes from.
struct PlanePlan {
  int component = 0;  ///< index into FrameHeader::components
  AxisMap x;
  AxisMap y;
};

/// Whether samples stay in the file's own planes, or pass through RGB.
enum class ColorPath : std::uint8_t {
  kPlanar,   ///< planes are resampled to the output's own sampling; no per-pixel colour arithmetic
  kConvert,  ///< planes are resampled to full output size, converted per pixel, then subsampled
};

/// What the encoder writes.
enum class OutputModel : std::uint8_t { kGray, kYcbcr, kCmyk };

/// The quantisation, sampling and entropy-coding choices of one output stream.
struct EncodePlan {
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  OutputModel model = OutputModel::kYcbcr;
  int component_count = 3;
  std::array<std::uint8_t, 4> h{1, 1, 1, 1};
  std::array<std::uint8_t, 4> v{1, 1, 1, 1};
  int quality = 80;  ///< IJG scale of the Annex K tables, clamped to 8-bit baseline
  bool progressive = false;
  bool optimize_huffman = false;
  std::int32_t restart_interval_mcus = 0;
  std::uint64_t max_bytes = 0;
};

struct Plan {
  SourceRect source;  ///< the part used, in stored (not oriented) full-size pixels
  /// Applied after resampling, 1 to 8: the file's, then the turn and the flip that were asked for.
  int orientation = 1;
  std::int32_t resized_width_px = 0;  ///< of the resampled picture, before orientation
  std::int32_t resized_height_px = 0;
  Scales scales = kFullScale;  ///< of each input component
  Kernel kernel = Kernel::kLanczos3;
  ColorPath color_path = ColorPath::kPlanar;
  /// Planes of kPlanar are the components that are written; planes of kConvert are the input's
  /// components, each resampled to the output's full size.
  int plane_count = 0;
  std::array<PlanePlan, jpeg::kMaxComponents> planes{};
  double sharpen_sigma = 0;
  /// Where the oriented picture sits in the output; the rest is background. Without padding it is
  /// {0, 0, width, height} of encode. x and y are multiples of the output's chroma step.
  Rect placement;
  std::array<std::uint8_t, 3> background{};
  EncodePlan encode;
  bool convert_icc = false;  ///< kConvert runs the file's ICC profile to sRGB
};

/// Whether the output is larger than the picture in it.
[[nodiscard]] constexpr bool is_padded(const Plan& plan) {
  return plan.placement.width != plan.encode.width_px ||
         plan.placement.height != plan.encode.height_px;
}

/// The background as samples of the output's components; of CMYK inverted, as Adobe stores it.
[[nodiscard]] std::array<std::uint8_t, 4> background_samples(const Plan& plan);

/// What a codec can do; the planner never asks for more.
struct Capabilities {
  bool scaled_decode = true;  ///< kReducedScales besides 8
};

/// The output geometry alone, for callers without a file (HTTP, tests): see docs/geometry.md.
struct Geometry {
  Rect crop;                         ///< what crop leaves, in oriented pixels
  std::int64_t scaled_width_px = 0;  ///< what the crop is scaled to, before the cut to the target
  std::int64_t scaled_height_px = 0;
  std::int64_t window_x_px = 0;  ///< of the picture in what was scaled
  std::int64_t window_y_px = 0;
  SourceRect source;                  ///< what the picture shows, oriented pixels
  std::int32_t picture_width_px = 0;  ///< what `source` is resampled to
  std::int32_t picture_height_px = 0;
  std::int32_t canvas_width_px = 0;  ///< the output's size; larger than the picture only if padded
  std::int32_t canvas_height_px = 0;
  std::int32_t offset_x_px = 0;  ///< of the picture in the canvas
  std::int32_t offset_y_px = 0;
  double dpr = 1;  ///< what was asked for, as far as the source has the pixels
};

/// Applies what the options say of crop, size, places and padding. Rotation and flip are the
/// caller's: the source is what they leave. No value of the options overflows or traps, also where
/// validate() would refuse it.
/// @param width_px, height_px  of the source image, upright and turned as asked
/// @return too_large where the output breaks a limit; invalid_input for an image without pixels
[[nodiscard]] Result<Geometry> make_geometry(std::int32_t width_px, std::int32_t height_px,
                                             const ResizeOptions& options);

/// Plans one image. Pure: same arguments, same plan; every codec executes the same plan.
/// @param convertible_icc  the file's ICC profile exists, is usable and is not sRGB already
/// @return as make_geometry(); unsupported for what jpeg::check_supported() refuses
[[nodiscard]] Result<Plan> make_plan(const jpeg::JpegFile& file, const ResizeOptions& options,
                                     const Capabilities& capabilities, bool convertible_icc);

/// Plans the gain map that goes with a primary image: the same part of the picture, orientation and
/// kernel; its size keeps its ratio to the primary's, but never exceeds it. No colour conversion.
/// @return unsupported for a gain map that is neither gray nor YCbCr, or no decodable JPEG
[[nodiscard]] Result<Plan> make_gain_map_plan(const jpeg::JpegFile& gain_map, const Plan& primary,
                                              const jpeg::FrameHeader& primary_frame,
                                              const ResizeOptions& options,
                                              const Capabilities& capabilities);

}  // namespace framewire::plan
