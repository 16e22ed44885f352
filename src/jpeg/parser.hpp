// Reads the markers of one JPEG stream.
#pragma once

#include <base/clock.hpp>
#include <cstdint>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <span>

namespace framewire::jpeg {

enum class ParseDepth : std::uint8_t {
  kWhole,         ///< every marker up to EOI: all scans are indexed
  kThroughFirst,  ///< stops at the first SOS where that scan carries the whole sequential image;
                  ///< its entropy bytes then extend to the end of input, unread
};

/// Parses headers, tables, scans and metadata, without touching pixels.
///
/// Source: ITU-T T.81 Annex B; JFIF 1.02; Adobe TN 5116; CIPA DC-008 (EXIF), DC-007 (MPF); ICC.1
/// Annex B.4; Ultra HDR image format 1.1.
/// Leading bytes before SOI are refused; trailing bytes are left alone. Broken optional segments
/// (EXIF, ICC, MPF) become warnings. An unsupported process still parses, for inspection: see
/// check_supported().
/// @param bytes     host, read only; must outlive the result, which points into it
/// @param deadline  looked at along the way. Limits::deadline_ms is not: only the caller knows from
///                  when it counts
/// @return invalid_input with offset for no SOI, no frame, a broken table or segment length, and a
///         scan before the frame; too_large for limits (input bytes, pixels, scans, pixel × scan);
///         deadline. A file cut off inside or before its first scan's data parses, with `truncated`
/// @cost O(headers) plus one memchr sweep over the entropy bytes (none at kThroughFirst); memory
///       proportional to the number of markers, never to the pixels
[[nodiscard]] Result<JpegFile> parse(std::span<const std::uint8_t> bytes, const Limits& limits,
                                     ParseDepth depth = ParseDepth::kWhole,
                                     base::Deadline deadline = {});

/// Whether codecs may try this file: 8 bits a sample, DCT-based, not hierarchical, 1, 3 or 4
/// components, a colour model that is known.
/// @return unsupported, with the offset of the frame header and what would be accepted
[[nodiscard]] Result<void> check_supported(const JpegFile& file);

}  // namespace framewire::jpeg
