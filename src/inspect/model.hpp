// Everything that inspect tells of one file, as JSON; the text is made from the same.
#pragma once

#include <cstdint>
#include <framewire/options.hpp>
#include <inspect/value.hpp>
#include <span>
#include <string>

namespace framewire::inspect {

/// @param file  the name to show
/// @return keys file, bytes and, where the headers can be read, markers, frame, scans,
/// quant_tables,
///         huffman_tables, metadata, warnings and codecs; otherwise error
[[nodiscard]] Value inspect_bytes(const std::string& file, std::span<const std::uint8_t> bytes,
                                  const ResizeOptions& options);

}  // namespace framewire::inspect
