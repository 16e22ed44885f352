// The index of a multi-picture file.
//
// Source: CIPA DC-007-2009, clause 5. Offsets in the index count from its TIFF header; the first
// image's is 0 and means the start of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <jpeg/bytes.hpp>
#include <jpeg/types.hpp>
#include <string>
#include <vector>

namespace framewire::jpeg {

inline constexpr std::string_view kMpfId{"MPF\0", 4};

struct MpfIndex {
  std::vector<MpfImage> images;  ///< offsets from the start of the file; empty where unusable
  std::string problem;           ///< why not all images are listed; else empty
};

/// Longest index that is read; a panorama or burst lists fewer.
inline constexpr std::size_t kMaxMpfImages = 64;

/// Reads the MP index. Images that do not lie inside the file, do not start with SOI, lie before
/// the index or overlap one that is listed already are dropped; all of them where the first is not
/// there. So to look through every image takes time linear in the file.
/// @param payload        of the APP2 segment, identifier included
/// @param payload_offset of that payload in `file`
[[nodiscard]] MpfIndex read_mpf(ByteSpan payload, std::size_t payload_offset, ByteSpan file);

/// A payload that indexes a primary image and a gain map; of constant size, whatever the numbers.
/// @param payload_offset  where the payload will lie in the file
/// @param primary_bytes   size of the primary image, and offset of the gain map
[[nodiscard]] Bytes make_mpf(std::size_t payload_offset, std::size_t primary_bytes,
                             std::size_t gain_map_bytes);

}  // namespace framewire::jpeg
