// Everything of an output stream before its first DQT: SOI, APPn and COM; and the gain map's tail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <jpeg/places.hpp>
#include <jpeg/types.hpp>
#include <span>
#include <vector>

namespace framewire::jpeg {

/// What the input file does not know about the output.
struct HeadFacts {
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  bool orientation_applied = false;  ///< samples were turned upright: metadata says orientation 1
  bool transposed = false;           ///< rows became columns: the two densities change places
  Places places = Places::kSame;
  bool cmyk = false;     ///< four components: Adobe APP14 instead of JFIF
  bool is_srgb = false;  ///< samples were converted to sRGB: a copied EXIF says so too
  std::span<const std::uint8_t> icc = {};  ///< profile to embed; empty: none
  /// Size of the complete gain map stream that will follow the primary's; 0: no gain map.
  std::size_t gain_map_bytes = 0;
};

/// Builds the head of the output of `file`.
///
/// kStrip leaves only what is needed to show the picture: density, profile, gain map description,
/// and the orientation where it was not applied. kCopyright adds who made the picture and whose it
/// is: Artist and Copyright (EXIF), rights (XMP), byline, credit and copyright notice (IPTC). kKeep
/// copies EXIF, XMP, image resources and comments, corrected, without any picture in them; other
/// APPn, which describe bytes that no longer exist, are left out. docs/metadata.md has the list.
/// @return internal where the profile needs more than 255 segments
[[nodiscard]] Result<std::vector<std::uint8_t>> make_head(const JpegFile& file, Metadata metadata,
                                                          const HeadFacts& facts);

/// What kKeep leaves out of the output because its bytes are gone: a warning for each item that the
/// input says is appended to it (a motion photograph's video, say), and one for XMP that is no XML.
[[nodiscard]] std::vector<Warning> list_losses(const JpegFile& file);

/// Builds the head of a resized gain map image: density, profile, and its own description (hdrgm
/// XMP, ISO 21496-1), whatever the metadata option says.
/// @param gain_map  the gain map image as parsed by itself
[[nodiscard]] Result<std::vector<std::uint8_t>> make_gain_map_head(const JpegFile& gain_map);

/// What completes a primary stream that has a gain map.
struct GainMapTail {
  std::span<const std::uint8_t> gain_map;  ///< a complete stream, which follows the primary
  std::vector<std::uint8_t> index;         ///< takes the place of as many bytes of the primary's
  std::size_t index_offset = 0;            ///< of those, from the primary's beginning
};

/// @param stream    a head made with gain_map_bytes = gain_map.size(), then DQT to EOI
/// @param gain_map  a complete JPEG stream; borrowed by the result
/// @return internal where the head has no room for the index; too_large where sizes exceed 4 GiB
[[nodiscard]] Result<GainMapTail> make_gain_map_tail(std::span<const std::uint8_t> stream,
                                                     std::span<const std::uint8_t> gain_map);

}  // namespace framewire::jpeg
