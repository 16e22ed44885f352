// The interface that every codec implements. Implementations never include one another.
#pragma once

#include <base/cache_use.hpp>
#include <base/clock.hpp>
#include <codec/helpers.hpp>
#include <cstdint>
#include <framewire/image.hpp>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <plan/plan.hpp>
#include <vector>

namespace framewire::color {
class Converter;
}

namespace framewire::codec {

/// One 8-bit plane in host memory; rows are contiguous, pitch = width.
struct Plane {
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  std::vector<std::uint8_t> samples;  ///< [height_px][width_px]
};

/// All planes of one picture, in component order.
struct Planes {
  std::vector<Plane> planes;
};

/// What one call takes besides the file and the plan.
struct Context {
  base::Deadline deadline;
  bool strict = false;  ///< refuse what would only decode with warnings
  std::uint32_t max_scans = 100;
  /// Per-pixel conversion of the kConvert path; null on the planar path. Not owned.
  const color::Converter* converter = nullptr;
  /// Threads that may help with a large progressive file; null: the calling one alone. Not owned.
  Helpers* helpers = nullptr;
};

/// What one call tells besides its bytes.
struct CodecOutcome {
  int quality = 0;
  double decode_resample_us = 0;
  double encode_us = 0;
  std::vector<Warning> warnings;
};

/// Decodes, transforms and encodes single images on the calling thread; Context::helpers may take
/// parts of it.
///
/// Thread safety: const functions may run on many threads at once.
/// Undecoded regions (truncation, missing scans) are mid-grey: coefficients that no scan delivered
/// are zero, so that samples are 128.
/// An MCU in which the data ends reads zero bits to its end. Arithmetic coding may drop zero bytes
/// at the end of its data, so that missing data there reads as zeros.
class Codec {
 public:
  Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;
  virtual ~Codec() = default;

  [[nodiscard]] virtual CodecKind kind() const noexcept = 0;
  [[nodiscard]] virtual plan::Capabilities capabilities() const noexcept = 0;
  /// The codec's cache of resampling filters; all zeros where it has none.
  [[nodiscard]] virtual base::CacheUse filters() const { return {}; }

  /// Decodes every component at its own sampling, scaled by scales[component] / 8.
  ///
  /// A reduced scale takes the N×N low-frequency corner of each block (docs/decisions/0002). Where
  /// the component ends inside a block, that block first has its last row and column repeated over
  /// the padding, so that nothing of the padding reaches the picture.
  /// @param scales  each 8 or one of plan::kReducedScales. The sizes of planes are
  ///                ⌈component size × scale / 8⌉
  /// @return invalid_input where nothing can be decoded, or with strict on any warning;
  ///         unsupported, also for scales that capabilities() does not promise; deadline; busy
  [[nodiscard]] virtual Result<Planes> decode(const jpeg::JpegFile& file,
                                              const plan::Scales& scales, const Context& context,
                                              CodecOutcome& outcome) const = 0;

  /// Appends a JPEG from DQT to EOI (no SOI, no APPn) to `out`.
  /// @param planes  one a component, ⌈output size × sampling / max sampling⌉ each
  /// @return internal for planes that do not fit the plan; deadline; busy
  [[nodiscard]] virtual Result<void> encode(const Planes& planes, const plan::EncodePlan& plan,
                                            const Context& context, std::vector<std::uint8_t>& out,
                                            CodecOutcome& outcome) const = 0;

  /// The whole path: decode, resample, colour, sharpen, orient, pad, encode; appends like encode().
  [[nodiscard]] virtual Result<void> transcode(const jpeg::JpegFile& file, const plan::Plan& plan,
                                               const Context& context,
                                               std::vector<std::uint8_t>& out,
                                               CodecOutcome& outcome) const = 0;
};

}  // namespace framewire::codec
