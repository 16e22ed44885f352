// The frame header and the geometry that follows from it (T.81 B.2.2, A.1, A.2).
#pragma once

#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <jpeg/walker.hpp>

namespace framewire::jpeg {

/// Reads SOFn. A height of 0 stays 0, to be filled in from DNL.
/// @return invalid_input for a wrong length, zero width, no component, a sampling factor other than
///         1 to 4, a table slot above 3; unsupported for more than 4 components; too_large
[[nodiscard]] Result<FrameHeader> read_frame(const MarkerView& segment, bool hierarchical,
                                             const Limits& limits);

/// Checks a height that was not known before, and derives sizes in pixels, blocks and MCUs.
/// @return too_large where width × height breaks the limit
[[nodiscard]] Result<void> set_height(FrameHeader& frame, std::int32_t height_px,
                                      const Limits& limits);

}  // namespace framewire::jpeg
