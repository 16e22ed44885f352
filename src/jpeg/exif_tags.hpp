// Tags of EXIF's directories (CIPA DC-008, 4.6), of TIFF (revision 6.0) and of what others keep
// there.
#pragma once

#include <cstdint>

namespace framewire::jpeg::exif_tag {

inline constexpr std::uint16_t kInteropIndex = 0x0001;
inline constexpr std::uint16_t kImageWidth = 0x0100;
inline constexpr std::uint16_t kImageLength = 0x0101;
inline constexpr std::uint16_t kMake = 0x010F;
inline constexpr std::uint16_t kOrientation = 0x0112;
inline constexpr std::uint16_t kArtist = 0x013B;
inline constexpr std::uint16_t kSubDirectories = 0x014A;
inline constexpr std::uint16_t kXmp = 0x02BC;
inline constexpr std::uint16_t kRelatedWidth = 0x1001;
inline constexpr std::uint16_t kRelatedLength = 0x1002;
inline constexpr std::uint16_t kThumbnailData = 0x501B;
inline constexpr std::uint16_t kCopyright = 0x8298;
inline constexpr std::uint16_t kPhotoshop = 0x8649;
inline constexpr std::uint16_t kExifDirectory = 0x8769;
inline constexpr std::uint16_t kGpsDirectory = 0x8825;
inline constexpr std::uint16_t kSubjectArea = 0x9214;
inline constexpr std::uint16_t kMakerNote = 0x927C;
inline constexpr std::uint16_t kColorSpace = 0xA001;
inline constexpr std::uint16_t kPixelXDimension = 0xA002;
inline constexpr std::uint16_t kPixelYDimension = 0xA003;
inline constexpr std::uint16_t kInteropDirectory = 0xA005;
inline constexpr std::uint16_t kSubjectLocation = 0xA214;

}  // namespace framewire::jpeg::exif_tag
