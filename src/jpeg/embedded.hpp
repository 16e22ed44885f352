// Pictures inside metadata, whatever the format around them: the net below everything that knows
// where previews and thumbnails lie.
//
// Source: ITU-T T.81 Annex B (a stream begins with SOI and a marker); RFC 4648 (base64).
#pragma once

#include <cstddef>
#include <jpeg/bytes.hpp>
#include <optional>
#include <string_view>

namespace framewire::jpeg {

/// Bytes [begin, end) of a block.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] bool contains(std::size_t at) const noexcept { return begin <= at && at < end; }
};

/// The first JPEG stream at or after `from`: FF D8 FF and a marker that may follow SOI; also one
/// whose first byte was overwritten, as Minolta did, if three segments follow. It ends after EOI,
/// or with the bytes where no EOI comes. Calling again from its end takes time linear in the bytes.
[[nodiscard]] std::optional<ByteRange> find_picture(ByteSpan bytes, std::size_t from = 0);

/// Whether bytes have a JPEG, PNG, WebP or HEIF picture anywhere.
[[nodiscard]] bool holds_picture(ByteSpan bytes);

/// Whether a text holds such a picture in base64: at its beginning or after another character.
[[nodiscard]] bool holds_base64_picture(std::string_view text);

}  // namespace framewire::jpeg
