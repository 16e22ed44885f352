// What a resize reads from an XMP packet, and the packets that an output gets.
//
// Source: ISO 16684-1; XMP part 3, 1.1.3 (JPEG). Only the first standard packet of an image counts.
// Extended XMP is neither read nor written: cameras put depth maps and other views of the scene
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <jpeg/places.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::jpeg {

inline constexpr std::string_view kXmpId{"http://ns.adobe.com/xap/1.0/\0", 29};

/// What rewrite_xmp() changes.
struct XmpChanges {
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  bool upright = false;            ///< tiff:Orientation becomes 1
  bool is_srgb = false;            ///< the colour space becomes sRGB
  bool keeps_profile = false;      ///< the output embeds the input's ICC profile
  std::size_t gain_map_bytes = 0;  ///< of the gain map that the output has; 0: none
  Places places = Places::kSame;
};

/// A copy of the packet that says what is true of the output: sizes, orientation, colour space and
/// the directory of appended images are corrected; embedded pictures and what announces bytes that
/// the output does not have (motion photographs, depth maps, extended XMP) are left out, and so is
/// what names places in the picture that are elsewhere now.
/// @return the packet as it is where nothing is to change; nothing where it is not understood
///         (XmpTree::parse), since what it holds is then unknown
[[nodiscard]] std::optional<std::string> rewrite_xmp(std::string_view packet,
                                                     const XmpChanges& changes);

/// A packet of the rights in another one and nothing else: dc:rights, dc:creator, xmpRights, plus,
/// cc, photoshop:Credit and photoshop:Copyright…; and, where `gain_map_bytes` is not 0, what
/// describes a gain map. Empty where there is neither.
[[nodiscard]] std::string make_rights_xmp(std::string_view packet, std::size_t gain_map_bytes);

/// A packet of the gain map's parameters (hdrgm) in another one and nothing else; empty: none.
[[nodiscard]] std::string make_gain_map_parameters_xmp(std::string_view packet);

}  // namespace framewire::jpeg
