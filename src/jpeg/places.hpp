// What has become of the places in a picture that its metadata names.
#pragma once

#include <cstdint>

namespace framewire::jpeg {

/// What the resize does to named places: faces, the subject, the part of the sky that a panorama
/// shows.
enum class Places : std::uint8_t {
  kSame,    ///< each at the pixel where it was
  kScaled,  ///< each at the same fraction of the picture
  kMoved,   ///< the picture was cropped, turned or padded
};

}  // namespace framewire::jpeg
