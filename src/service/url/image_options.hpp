// What a URL asks for: every option of imgproxy's open version, under imgproxy's long names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace framewire::service::url {

enum class ResizingType : std::uint8_t { kFit, kFill, kFillDown, kForce, kAuto };

/// Formats that imgproxy knows; the service writes kJpeg alone.
enum class Format : std::uint8_t {
  kJpeg,
  kPng,
  kWebp,
  kAvif,
  kGif,
  kIco,
  kBmp,
  kTiff,
  kJxl,
  kHeic,
  kSvg,
};
inline constexpr std::size_t kFormats = 11;

/// Anchors and, as kFp, a focus point. kSm (smart) needs detection; kRe is a watermark's alone.
enum class GravityType : std::uint8_t {
  kCe,
  kNo,
  kSo,
  kEa,
  kWe,
  kNoEa,
  kNoWe,
  kSoEa,
  kSoWe,
  kFp,
  kSm,
  kRe,
};

/// Where a part lies. With kFp the offsets are the focus point and lie in 0…1. Otherwise an offset
/// of at least 1 counts as pixels (times dpr), one below 1 as a fraction of the whole side; all are
/// finite. An offset outlives a later anchor: "g:ce:10:10/g:no" keeps 10 and 10.
struct GravityOptions {
  std::optional<GravityType> type;
  std::optional<double> x_offset;
  std::optional<double> y_offset;
  bool operator==(const GravityOptions&) const = default;
};

/// 0: the whole side; below 1: a fraction of the side; from 1 on: pixels, cut to whole ones.
struct CropOptions {
  std::optional<double> width;
  std::optional<double> height;
  GravityOptions gravity;  ///< without a type: ImageOptions::gravity counts
  bool operator==(const CropOptions&) const = default;
};

/// Both for extend and for extend_aspect_ratio; the gravity is never kSm.
struct ExtendOptions {
  std::optional<bool> enabled;
  GravityOptions gravity;
  bool operator==(const ExtendOptions&) const = default;
};

using RgbBytes = std::array<std::uint8_t, 3>;

struct TrimOptions {
  std::optional<double> threshold;
  std::optional<RgbBytes> color;
  std::optional<bool> equal_horizontal;
  std::optional<bool> equal_vertical;
  bool operator==(const TrimOptions&) const = default;
};

/// Pixels before dpr, each at least 0.
struct PaddingOptions {
  std::optional<std::int32_t> top;
  std::optional<std::int32_t> right;
  std::optional<std::int32_t> bottom;
  std::optional<std::int32_t> left;
  bool operator==(const PaddingOptions&) const = default;
};

struct FlipOptions {
  std::optional<bool> horizontal;
  std::optional<bool> vertical;
  bool operator==(const FlipOptions&) const = default;
};

struct WatermarkOptions {
  std::optional<double> opacity;  ///< 0…1; 0 is none
  std::optional<GravityType> position;
  std::optional<double> x_offset;
  std::optional<double> y_offset;
  std::optional<double> scale;
  bool operator==(const WatermarkOptions&) const = default;
};

/// Everything of a URL that shapes the picture. Unset: the URL and its presets do not name it, and
/// the server's default counts.
///
/// Numbers are finite and within the ranges given here: the parser refuses others. What concerns
/// the answer alone (its file name, when the URL expires) stands in ImageRequest.
struct ImageOptions {
  std::optional<ResizingType> resizing_type;  ///< kFit where unset
  std::optional<std::int32_t> width;          ///< ≥ 0; 0 follows from the height
  std::optional<std::int32_t> height;         ///< ≥ 0; 0 follows from the width
  std::optional<std::int32_t> min_width;      ///< ≥ 0; "min-width" in URLs
  std::optional<std::int32_t> min_height;     ///< ≥ 0; "min-height" in URLs
  std::optional<double> zoom_width;           ///< > 0
  std::optional<double> zoom_height;          ///< > 0
  std::optional<double> dpr;                  ///< > 0
  std::optional<bool> enlarge;
  ExtendOptions extend;
  ExtendOptions extend_aspect_ratio;
  GravityOptions gravity;
  CropOptions crop;
  TrimOptions trim;
  PaddingOptions padding;
  std::optional<bool> auto_rotate;
  std::optional<std::int32_t> rotate;  ///< ≥ 0, a multiple of 90, as written: 450 is 90
  FlipOptions flip;
  std::optional<RgbBytes> background;    ///< what fills extend and padding, white where unset
  std::optional<double> blur;            ///< σ ≥ 0
  std::optional<double> sharpen;         ///< σ ≥ 0
  std::optional<std::int32_t> pixelate;  ///< ≥ 0; 0 and 1 are off
  WatermarkOptions watermark;

  std::optional<std::int32_t> quality;  ///< 0…100; 0 is the server's default
  std::array<std::optional<std::int32_t>, kFormats> format_quality;  ///< by Format; as quality
  std::optional<std::int64_t> max_bytes;                             ///< ≥ 0; 0 is no bound
  std::optional<Format> format;  ///< of the result; unset: the source's
  std::optional<bool> strip_metadata;
  std::optional<bool> keep_copyright;
  std::optional<bool> strip_color_profile;
  std::optional<bool> preserve_hdr;
  std::optional<bool> enforce_thumbnail;
  std::vector<Format>
      skip_processing;  ///< sources of these formats are sent as they are; ascending

  // Only where the server's settings allow security options.
  std::optional<double> max_src_resolution;              ///< megapixels, ≥ 0
  std::optional<std::int64_t> max_src_file_size;         ///< bytes; 0 or less is none
  std::optional<std::int32_t> max_animation_frames;      ///< > 0
  std::optional<double> max_animation_frame_resolution;  ///< megapixels, ≥ 0
  std::optional<std::int32_t> max_result_dimension;  ///< pixels; larger results are scaled down;
                                                     ///< 0 or less is none
  bool operator==(const ImageOptions&) const = default;
};

}  // namespace framewire::service::url
