// Whether a file's entropy-coded data is sound from its first bit to its last.
#pragma once

#include <base/clock.hpp>
#include <jpeg/types.hpp>

namespace framewire::codec {

/// Decodes every scan, keeping nothing, and checks that each ends where its data does.
///
/// Stricter than decoding for a picture: fill bytes and whole bytes of padding, which decoders pass
/// over, are not sound here either.
/// @param file  parsed whole
/// @return false for anything that our own decoder does not take (arithmetic coding, 12 bits, a
///         height from DNL, sequential files of several scans, warnings of the parser), for damage,
///         and where the deadline passes
/// @cost that of entropy decoding: about a third of a resize
[[nodiscard]] bool scans_are_whole(const jpeg::JpegFile& file, const base::Deadline& deadline);

}  // namespace framewire::codec
