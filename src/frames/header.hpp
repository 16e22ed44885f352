// A frame's header as bytes; docs/frames.md has the table.
#pragma once

#include <array>
#include <cstddef>
#include <framewire/frames.hpp>
#include <framewire/status.hpp>
#include <span>

namespace framewire::frames {

inline constexpr std::size_t kFrameHeaderBytes = 112;
static_assert(kFrameHeaderBytes <= transport::kMaxNoteBytes, "a header travels as a put's note");

/// Whether sizes, planes and payload go together. @return invalid_input
[[nodiscard]] Result<void> check(const FrameHeader& header);

[[nodiscard]] std::array<std::byte, kFrameHeaderBytes> encode(const FrameHeader& header) noexcept;

/// Any bytes are safe; what is accepted encodes to the same bytes again.
/// @return invalid_input for what is no header, is damaged or contradicts itself; unsupported for
///         another version
[[nodiscard]] Result<FrameHeader> decode_frame_header(std::span<const std::byte> bytes);

}  // namespace framewire::frames
