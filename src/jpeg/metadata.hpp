// Gives meaning to the APPn segments of a walked file.
#pragma once

#include <cstddef>
#include <jpeg/types.hpp>

namespace framewire::jpeg {

/// Fills in jfif, adobe_transform, color_model, orientation, exif, xmp, icc, mpf and gain_map from
/// the first `head_segments` segments, those before the first scan, as libjpeg reads them; what is
/// broken becomes a warning.
void interpret_metadata(JpegFile& file, std::size_t head_segments);

/// What components mean, by libjpeg's rules: JFIF, else Adobe's transform, else component ids.
[[nodiscard]] ColorModel decide_color_model(const FrameHeader& frame, bool has_jfif,
                                            std::optional<std::uint8_t> adobe_transform);

}  // namespace framewire::jpeg
