// Hands the original on where a request changes nothing and encoding would only make it larger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <engine/request.hpp>
#include <optional>
#include <vector>

namespace framewire::engine {

/// Whether the output shows every pixel of the input at its place, and the request asks nothing of
/// the encoder: its options of encoding and sharpening have their defaults. Only for files whose
/// tables are complete, and with which nothing was wrong so far.
[[nodiscard]] bool needs_no_change(const Request& request);

/// The original's tables and entropy-coded data behind the head that an encoded output would have.
///
/// Every bit of the scans is decoded first, since nothing damaged and nothing hidden is handed on;
/// browsers read all that this decoder takes. Neither the codec nor how far a device has read the
/// file counts, so all codecs whose streams have the same size decide alike.
/// @param request        transcoded, with the codec's warnings in its report
/// @param encoded_bytes  size of what the codec made, head included
/// @return nothing where something has to change, or where the original is not smaller
/// @cost for a request that changes nothing and whose original is smaller an entropy decode and a
///       copy; for all others a few comparisons
[[nodiscard]] std::optional<std::vector<std::uint8_t>> smaller_original(const Request& request,
                                                                        std::size_t encoded_bytes);

}  // namespace framewire::engine
