// Texts of URLs taken apart, and their encodings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::url {

/// Before a source that is not encoded.
inline constexpr std::string_view kPlainPrefix = "plain/";

/// Between the separators; one part for a text without any. @param separator  not empty
[[nodiscard]] std::vector<std::string_view> split(std::string_view text,
                                                  std::string_view separator);

/// Every `from` made `to`, left to right.
[[nodiscard]] std::string replace_all(std::string_view text, std::string_view from,
                                      std::string_view to);

/// %XX to bytes, once; '+' stays. Nothing where an escape is broken.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

/// RFC 4648, section 5, without padding; spare bits of the last character may be any.
[[nodiscard]] std::optional<std::string> base64url_decode(std::string_view text);
[[nodiscard]] std::string base64url_encode(std::span<const std::uint8_t> bytes);

/// Pairs of hexadecimal digits.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> hex_decode(std::string_view text);

}  // namespace framewire::service::url
