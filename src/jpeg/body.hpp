// What an output keeps of an encoder's stream: all that depends on pixels. The head before it is
// written anew (head.hpp).
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <vector>

namespace framewire::jpeg {

/// Appends `stream` without SOI, APPn and COM: from its first table to EOI, trailing bytes left
/// off.
/// @param stream  a complete baseline, extended or progressive JPEG, as an encoder wrote it
/// @return invalid_input where markers do not follow one another to EOI; `out` is then unchanged
Result<void> append_body(std::span<const std::uint8_t> stream, std::vector<std::uint8_t>& out);

}  // namespace framewire::jpeg
