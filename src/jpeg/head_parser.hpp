// Reads files in memory that others may write to meanwhile: what is believed is copied first.
#pragma once

#include <base/clock.hpp>
#include <cstddef>
#include <cstdint>
#include <framewire/options.hpp>
#include <jpeg/types.hpp>
#include <optional>
#include <span>

namespace framewire::jpeg {

/// How many bytes come before the first scan's data: up to the end of the first SOS segment.
/// @param bytes  host; may change at any time, even while this runs
/// @return 0 where there is no scan, or the deadline has passed; otherwise at most bytes.size(),
///         and of no more meaning than a hint, since the bytes may be others by now
[[nodiscard]] std::size_t count_head_bytes(std::span<const std::uint8_t> bytes,
                                           base::Deadline deadline = {});

/// What parse() at ParseDepth::kThroughFirst makes of a file, from a copy of its head alone.
/// @param head   a copy of the file's first count_head_bytes(), which the result points into
/// @param bytes  the file; never read here, but JpegFile::bytes of the result
/// @return nothing where more of the file is needed to read it, or something is wrong with it:
///         files whose first scan is not the whole picture, MPF indices, gain maps, DNL, any error
[[nodiscard]] std::optional<JpegFile> parse_head(std::span<const std::uint8_t> head,
                                                 std::span<const std::uint8_t> bytes,
                                                 const Limits& limits,
                                                 base::Deadline deadline = {});

}  // namespace framewire::jpeg
