// Where the pictures of a maker note lie: previews that cameras store beside their own settings.
//
// Source: the layouts that camera makers are publicly known to use; most are TIFF directories
// behind a few letters. A maker note of another form is left to find_picture().
#pragma once

#include <cstdint>
#include <jpeg/bytes.hpp>
#include <jpeg/embedded.hpp>
#include <jpeg/tiff_edit.hpp>
#include <string_view>
#include <vector>

namespace framewire::jpeg {

struct MakerNotePictures {
  /// An entry that holds a picture or says where one lies.
  struct Entry {
    TiffPlace directory;
    std::uint16_t tag = 0;
  };
  std::vector<ByteRange> pictures;  ///< inside the block
  std::vector<Entry>
      entries;  ///< to be retired; also where the picture lies outside, behind the image, say
  std::vector<ByteRange> others;  ///< directories, and values that are no pictures
};

/// Names and places of faces, which are no pictures, but true of the whole scene only.
enum class Faces : std::uint8_t { kStay, kLeave };

/// @param block          the TIFF block of EXIF
/// @param little_endian  the block's byte order
/// @param note           the maker note's value in it
/// @param make           of the camera, as EXIF states it
/// @param faces          kLeave: values that tell of faces count as pictures
[[nodiscard]] MakerNotePictures find_maker_note_pictures(ByteSpan block, bool little_endian,
                                                         ByteRange note, std::string_view make,
                                                         Faces faces = Faces::kStay);

}  // namespace framewire::jpeg
