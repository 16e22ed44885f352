// EXIF: what orientation and copyright a file states, and what an output states in its place.
//
// Source: CIPA DC-008. A "block" is the TIFF structure after "Exif\0\0".
#pragma once

#include <cstdint>
#include <jpeg/bytes.hpp>
#include <jpeg/places.hpp>
#include <optional>
#include <string>

namespace framewire::jpeg {

/// The segment's signature, padding included.
inline constexpr std::string_view kExifId{"Exif\0\0", 6};

struct ExifSummary {
  int orientation = 1;    ///< 1 to 8; nonsense values read as 1
  std::string artist;     ///< without trailing zeros; may be empty
  std::string copyright;  ///< photographer's and editor's part, a zero between them as stored
  /// ColorSpace is "uncalibrated", and the interoperability index that of DCF's optional colour
  /// space: the numbers are Adobe RGB (1998). Only read, never written.
  bool adobe_rgb = false;
};

/// @return nothing where the block is no TIFF structure with a first directory
[[nodiscard]] std::optional<ExifSummary> read_exif(ByteSpan block);

/// A block with nothing but these; orientation 1 and empty strings are left out.
/// @return empty where nothing would be in it, or it would not fit a segment
[[nodiscard]] Bytes make_exif(const ExifSummary& summary);

/// What rewrite_exif() changes.
struct ExifChanges {
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  bool upright = false;  ///< set orientation to 1
  bool is_srgb = false;  ///< set ColorSpace to sRGB
  Places places = Places::kSame;
};

/// A copy with the changes made in place. Nothing moves, since offsets inside maker notes count
/// from places of their own.
/// Pictures are overwritten with zeros, or cut off where they lie at the end: those of the
/// thumbnail directories, of maker notes (find_maker_note_pictures) and any other JPEG stream
/// (find_picture). The entries that pointed to them are taken out. SubjectArea and SubjectLocation
/// are removed unless Places::kSame holds, and what maker notes say of faces is removed where
/// Places::kMoved does.
/// @return empty where the block is no TIFF structure with a first directory, and where a picture,
///         or a value that was to change, lies inside a directory
[[nodiscard]] Bytes rewrite_exif(ByteSpan block, const ExifChanges& changes);

}  // namespace framewire::jpeg
