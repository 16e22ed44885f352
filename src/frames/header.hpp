// A frame's header as bytes; docs/frames.md has the table.
#pragma once

#include <array>
#include <cstddef>
#include <framewire/frames.hpp>
#include <framewire/status.hpp>
#include <span>

namespace framewire::frames {

inline constexpr std::size_t kPictureHeaderBytes = 112;
static_assert(kPictureHeaderBytes <= transport::kMaxNoteBytes, "a header travels as a put's note");

/// Whether sizes, planes and payload go together. @return invalid_input
[[nodiscard]] Result<void> check(const PictureHeader& header);

[[nodiscard]] std::array<std::byte, kPictureHeaderBytes> encode(
    const PictureHeader& header) noexcept;

/// Any bytes are safe; what is accepted encodes to the same bytes again.
/// @return invalid_input for what is no header, is damaged or contradicts itself; unsupported for
///         another version
[[nodiscard]] Result<PictureHeader> decode_picture_header(std::span<const std::byte> bytes);

}  // namespace framewire::frames
