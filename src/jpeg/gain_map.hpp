// Ultra HDR: finding the gain map of a file, and what the primary image says about it.
//
// Source: Ultra HDR image format 1.1 (XMP hdrgm and GContainer, MPF); ISO 21496-1 annex on JPEG
// (APP2 "urn:iso:std:iso:ts:21496:-1").
#pragma once

#include <cstddef>
#include <cstdint>
#include <jpeg/types.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace framewire::jpeg {

inline constexpr std::string_view kIsoGainMapId{"urn:iso:std:iso:ts:21496:-1\0", 28};

/// Whether an XMP packet declares the hdrgm namespace and uses its Version.
[[nodiscard]] bool xmp_declares_gain_map(std::span<const std::uint8_t> xmp);

/// The bytes of the gain map, empty where file.gain_map is.
[[nodiscard]] std::span<const std::uint8_t> gain_map_bytes(const JpegFile& file);

/// Sets file.gain_map where the file describes one and one can be found: by its MPF index, or at
/// the place that the XMP container directory gives. Warns where it is described but not there.
void find_gain_map(JpegFile& file);

/// A minimal primary XMP: hdrgm version and a container of primary and gain map.
[[nodiscard]] std::string make_gain_map_xmp(std::size_t gain_map_bytes);

/// The packet with the gain map's Item:Length replaced; nothing where no such item is found.
[[nodiscard]] std::optional<std::string> with_gain_map_length(std::string_view xmp,
                                                              std::size_t gain_map_bytes);

/// The packet without its statements about a gain map, for outputs that have none.
[[nodiscard]] std::string without_gain_map(std::string_view xmp);

}  // namespace framewire::jpeg
