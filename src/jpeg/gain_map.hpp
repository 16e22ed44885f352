// Ultra HDR: finding the gain map of a file.
//
// Source: Ultra HDR image format 1.1 (XMP hdrgm and GContainer, MPF); ISO 21496-1 annex on JPEG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <jpeg/types.hpp>
#include <span>
#include <string_view>

namespace framewire::jpeg {

/// Starts the APP2 payload of ISO 21496-1 metadata.
inline constexpr std::string_view kIsoGainMapId{"urn:iso:std:iso:ts:21496:-1\0", 28};

/// Whether an XMP packet declares the hdrgm namespace and states its Version.
[[nodiscard]] bool xmp_declares_gain_map(std::span<const std::uint8_t> xmp);

/// Whether the head of the primary says that there is a gain map.
[[nodiscard]] bool primary_declares_gain_map(const JpegFile& file);

/// The gain map's own JPEG stream, inside file.bytes; empty where file.gain_map is.
[[nodiscard]] std::span<const std::uint8_t> gain_map_bytes(const JpegFile& file);

/// Sets file.gain_map where the file describes one and one can be found: by its MPF index, or at
/// the place that the XMP container directory gives. Warns where it is described but not there.
void find_gain_map(JpegFile& file);

}  // namespace framewire::jpeg
