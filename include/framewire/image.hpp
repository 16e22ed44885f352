// What is said about images: sizes, samplings, warnings and the report of one resize.
#pragma once

#include <cstdint>
#include <framewire/export.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framewire {

/// Implementations of decode, resize and encode. kAuto lets the engine choose and say which.
enum class CodecKind : std::uint8_t { kAuto, kReference, kTurbo, kCuda, kNvjpeg };
[[nodiscard]] FRAMEWIRE_API std::string_view to_string(CodecKind kind) noexcept;

/// What was wrong or given up, in kinds that programs can go by. docs/errors.md says what each
/// means.
enum class WarningKind : std::uint8_t {
  kTruncated,        ///< the file ends early
  kCorruptData,      ///< entropy bytes make no sense somewhere
  kExtraneousBytes,  ///< bytes that belong to no segment
  kMissingScan,      ///< a component, or part of its coefficients, never came
  kBadSegment,       ///< an optional segment is damaged, or there is too much metadata
  kExifIgnored,      ///< the EXIF block is damaged
  kIccIgnored,       ///< the ICC profile was not used
  kGainMapDropped,   ///< the gain map could not be carried over
  kItemDropped,      ///< a video or picture that is appended to the file was left out
  kXmpIgnored,       ///< the XMP packet was not understood and left out
  kCodecFallback,    ///< the codec that was named does not take this image; the CPU did it
  kMaxBytesMissed,   ///< even the lowest quality is larger than max_bytes
};
/// The stable word for a kind in JSON, manifests and messages: "truncated", "corrupt_data", …
[[nodiscard]] FRAMEWIRE_API std::string_view to_string(WarningKind kind) noexcept;

/// Something that was wrong or given up, though an output exists.
struct Warning {
  WarningKind kind{};
  std::string message;                  ///< what was found, for people
  std::optional<std::uint64_t> offset;  ///< byte offset in the input, if there is one
};

/// One end of a resize, as stored in the file (before EXIF orientation is applied).
struct ImageSummary {
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  std::uint64_t bytes = 0;
  int components = 0;
  std::string sampling;  ///< "444", "422", "420", "440", "gray", or factors such as "2x2,1x2,1x1"
  std::string process;   ///< "baseline", "extended", "progressive", "lossless"; with "arithmetic "
};

/// Wall time of each stage of one call, microseconds; 0 where a stage was fused into another.
struct StageTimes {
  double parse_us = 0;
  double decode_resample_us = 0;  ///< on a GPU the whole batch, from copy to copy
  double encode_us = 0;
  double total_us = 0;
};

/// Time in one stage on a device, summed over the images of a batch or of an engine.
struct StageTotal {
  std::string_view name;  ///< "copy in", "unstuff", …; static storage
  double us = 0;
};

/// What was done to one image.
struct Report {
  ImageSummary input;
  ImageSummary output;
  CodecKind codec = CodecKind::kAuto;  ///< the codec that ran; never kAuto after success
  std::string codec_reason;            ///< why that codec: "requested", "no GPU", …
  int decode_scale = 8;                ///< eighths of the scaled decode: 8, 6, 5, 4, 2 or 1
  int quality = 0;                     ///< the quality written; lower than asked under max_bytes;
                                       ///< 0 where the original was kept
  bool color_converted = false;        ///< pixels went through the colour path (ICC, CMYK, RGB)
  /// The profile that the file does not carry, but says in its EXIF; empty: none was assumed.
  std::string assumed_profile;
  bool gain_map_kept = false;
  /// The output holds the original's own entropy-coded data, since nothing had to change and that
  /// is smaller than what the codec made.
  bool original_kept = false;
  StageTimes times;
  std::vector<Warning> warnings;
};

}  // namespace framewire
