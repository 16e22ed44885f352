// The stages of a resize one by one, so that they can run in different places.
#pragma once

#include <codec/codec.hpp>
#include <codec/turbo/fixed_filter.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace framewire::codec {

/// Rows [first, first + count) of a plane.
struct RowSpan {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

/// One 8-bit plane in host memory that somebody else owns; rows are contiguous, pitch = width.
struct PlaneView {
  std::uint8_t* samples = nullptr;  ///< [height_px][width_px]
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
};

using PlaneSize = std::pair<std::int32_t, std::int32_t>;  ///< width and height in samples

/// Sizes of the planes between the stages; one a plane of Plan::planes, in its order.
[[nodiscard]] std::vector<PlaneSize> decoded_sizes(const jpeg::JpegFile& file,
                                                   const plan::Plan& plan);
[[nodiscard]] std::vector<PlaneSize> resampled_sizes(const plan::Plan& plan);

/// Decoding, resampling and encoding of the CPU codec as separate calls. Together they give the
/// same bytes as its transcode(), however rows are divided (tests/conformance/stages_test.cpp).
/// Thread safety: all functions may run on many threads at once.
class TurboStages {
 public:
  TurboStages() : codec_(make_codec()) {}

  [[nodiscard]] const Codec& codec() const noexcept { return *codec_; }

  /// Decodes into the caller's planes, which have decoded_sizes(). Rows that no output uses may
  /// stay unwritten.
  /// @return as Codec::decode(); internal where the file has fewer rows than planned
  [[nodiscard]] Result<void> decode(const jpeg::JpegFile& file, const plan::Plan& plan,
                                    const Context& context, std::span<const PlaneView> planes,
                                    CodecOutcome& outcome) const;

  /// The rows of a decoded plane from which `rows` of a resampled plane are made.
  /// @param rows  one or more, inside the resampled plane
  [[nodiscard]] RowSpan input_rows(const plan::Plan& plan, int plane, RowSpan rows) const;

  /// Makes some rows of a resampled plane.
  /// @param in   [input_rows().count][decoded width], beginning with row input_rows().first
  /// @param out  [rows.count][resampled width]
  void resample(const plan::Plan& plan, int plane, RowSpan rows, const std::uint8_t* in,
                std::uint8_t* out) const;

  /// Converts colour, sharpens, orients and pads as planned. The result is for Codec::encode(), or
  /// for a caller who wants planes.
  /// @param planes  of resampled_sizes()
  /// @return internal for a conversion without converter; busy
  [[nodiscard]] Result<Planes> post_process(const plan::Plan& plan, const Context& context,
                                            std::span<const PlaneView> planes) const;

 private:
  static std::unique_ptr<Codec> make_codec();
  std::unique_ptr<Codec> codec_;
  mutable turbo::FixedFilterCache filters_;
};

}  // namespace framewire::codec
