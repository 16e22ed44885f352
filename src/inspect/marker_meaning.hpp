// What a marker segment is about, in a few words.
#pragma once

#include <cstdint>
#include <jpeg/types.hpp>
#include <span>
#include <string>

namespace framewire::inspect {

/// "2 tables: 0, 1 (8 bit)", "ICC profile, part 1 of 3", "restart every 4 MCUs"; "" where the name
/// says it all. Reads the segment's own bytes, of which any number may be missing.
[[nodiscard]] std::string marker_meaning(const jpeg::JpegFile& file,
                                         const jpeg::MarkerEntry& entry);

}  // namespace framewire::inspect
