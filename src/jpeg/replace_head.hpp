// A file's coded picture, bit for bit, behind a head of ours.
#pragma once

#include <base/clock.hpp>
#include <cstdint>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <vector>

namespace framewire::jpeg {

/// Copies tables, frame and scans of `file` as they are. The head before them is make_head()'s, so
/// `metadata` says what it carries; the orientation stays in it. Bytes between segments and behind
/// EOI are left out; those within entropy-coded data are not looked at. A gain map is treated in
/// the same way, and left out where it cannot be, or where `gain_map` says so. A file that was cut
/// off gets its EOI.
/// @param file      parsed whole
/// @param limits    for the gain map's own stream
/// @return unsupported as check_supported(); invalid_input without a scan, or with more segments
///         than are listed; deadline
[[nodiscard]] Result<std::vector<std::uint8_t>> replace_head(const JpegFile& file,
                                                             Metadata metadata, GainMap gain_map,
                                                             const Limits& limits,
                                                             base::Deadline deadline);

}  // namespace framewire::jpeg
