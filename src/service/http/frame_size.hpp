// How many pixels a JPEG says it has: a hint for admission, found in its first markers.
#pragma once

#include <cstdint>
#include <span>

namespace framewire::service::http {

/// Width × height of the first frame header. Looks at no more than 4096 markers before it, nor at
/// more than 8 MB of segments.
/// @param jpeg  host; any bytes
/// @return 0 where there is no frame header, or it has no height yet (DNL)
[[nodiscard]] std::uint64_t count_frame_pixels(std::span<const std::uint8_t> jpeg) noexcept;

/// The same, as far as they will be decoded: 0 where there are more than `limit`, since such a file
/// is refused by its frame header. So a few bytes that claim much take nothing of the budget. A
/// gain map's pixels are added. Where a file hides how many there are, as many are counted as there
/// may be: at most `limit` of the picture, and as many of a gain map.
[[nodiscard]] std::uint64_t count_pixels_to_decode(std::span<const std::uint8_t> jpeg,
                                                   std::uint64_t limit) noexcept;

}  // namespace framewire::service::http
