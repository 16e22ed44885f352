// EXIF orientation as an index map.
//
// Source: CIPA DC-008 (EXIF 2.3), 4.6.4 tag 274.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::transform {

struct PixelPosition {
  std::int32_t x;
  std::int32_t y;
  FW_HD friend constexpr bool operator==(const PixelPosition& a, const PixelPosition& b) {
    return a.x == b.x && a.y == b.y;
  }
};

/// Orientations 5 to 8 exchange width and height.
FW_HD constexpr bool swaps_axes(int orientation) { return orientation >= 5 && orientation <= 8; }

/// Where, in a stored picture of width_px × height_px, the sample lies that is shown at `shown`.
/// Values other than 2 to 8 read as 1.
FW_HD constexpr PixelPosition stored_position(int orientation, PixelPosition shown,
                                              std::int32_t width_px, std::int32_t height_px) {
  const std::int32_t right = width_px - 1;
  const std::int32_t bottom = height_px - 1;
  switch (orientation) {
    case 2:
      return {right - shown.x, shown.y};
    case 3:
      return {right - shown.x, bottom - shown.y};
    case 4:
      return {shown.x, bottom - shown.y};
    case 5:
      return {shown.y, shown.x};
    case 6:
      return {shown.y, bottom - shown.x};
    case 7:
      return {right - shown.y, bottom - shown.x};
    case 8:
      return {right - shown.y, shown.x};
    default:
      return shown;
  }
}

/// The orientation that shows a picture of `orientation` turned by 90° clockwise.
constexpr int turned_clockwise(int orientation) {
  constexpr int kNext[] = {6, 7, 8, 5, 2, 3, 4, 1};
  return kNext[orientation >= 1 && orientation <= 8 ? orientation - 1 : 0];
}

/// The one that shows it with left and right exchanged.
constexpr int mirrored(int orientation) {
  constexpr int kNext[] = {2, 1, 4, 3, 6, 5, 8, 7};
  return kNext[orientation >= 1 && orientation <= 8 ? orientation - 1 : 0];
}

/// The one that shows it with top and bottom exchanged.
constexpr int turned_over(int orientation) {
  return mirrored(turned_clockwise(turned_clockwise(orientation)));
}

}  // namespace framewire::transform
