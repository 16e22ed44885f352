// Reads the tag table of an ICC profile before LittleCMS does, and hands on only what a conversion
// to sRGB needs, so that neither time nor memory is the file's to choose. Knows no LittleCMS.
//
// Source: ICC.1:2022, 7.3 (tag table), 10.6 (curv), 10.18 (para), 10.10 to 10.12 (lookup tables).
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <vector>

namespace framewire::color {

/// A profile's header, and where it has the signature of its colour space (ICC.1, 7.2).
inline constexpr std::size_t kProfileHeaderBytes = 128;
inline constexpr std::size_t kProfileSpaceOffset = 16;
/// Larger profiles are refused. Those of presses with all their tables take up to 3 MB.
inline constexpr std::size_t kMaxProfileBytes = 4u << 20;
/// LittleCMS reads no more tags than this either (its MAX_TABLE_TAG).
inline constexpr std::uint32_t kMaxProfileTags = 100;
/// Longest tone curve; LittleCMS reads none that is longer.
inline constexpr std::uint32_t kMaxCurveEntries = 0x7FFF;
/// Nodes × outputs of a lookup table: enough for 24 nodes an axis of CMYK, or 69 of RGB.
inline constexpr std::uint64_t kMaxTableEntries = 1'000'000;

/// A canonical copy of a gray, RGB or CMYK profile: of its header version, class and colour spaces,
/// and these tags alone, in one order: AToB0, AToB1, the tone curves and the colorants. Profiles
/// that differ in nothing but dates, names, texts, ids and paddings have the same copy. LittleCMS
/// sees only such copies, so that equal copies always convert alike.
///
/// Everything else is dropped: descriptions, output directions, and the multi-process elements of
/// DToB0 to DToB3, which LittleCMS would prefer to AToB0 and which may name any number of elements
/// at the same bytes. ICC.1 demands AToB0 beside DToB0 (8.3, 8.4.2), so that no valid profile loses
/// its meaning.
/// @param icc  host; not kept
/// @return too_large for what exceeds the constants above; invalid_input, with the offset, for tags
///         outside the profile, tags that overlap without being one and the same, and elements that
///         do not fit their tag or the profile's colour space
/// @cost one pass over the tag table and the kept tags' headers, and a copy of the kept tags
[[nodiscard]] Result<std::vector<std::uint8_t>> reduce_profile(std::span<const std::uint8_t> icc);

}  // namespace framewire::color
