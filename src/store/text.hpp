// Texts of HTTP, URLs and messages: escapes, numbers, dates.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace framewire::store {

/// Names and values, in the order in which they were given.
using TextPairs = std::vector<std::pair<std::string, std::string>>;

/// Decimal digits alone. @return nothing for anything else, and for what does not fit
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text) noexcept;

/// %XX in upper case for every byte that is not unreserved (RFC 3986, 2.3), as AWS signs them.
/// @param keep_slashes  '/' stays, as in the path of an object
[[nodiscard]] std::string percent_encode(std::string_view text, bool keep_slashes = false);
/// %XX to bytes, '+' to a blank: what S3 writes with encoding-type=url.
/// @return nothing where an escape is broken
[[nodiscard]] std::optional<std::string> decode_form_text(std::string_view text);

/// What of a stranger's text may stand in a message: one line, without control characters and what
/// turns the direction of text, of valid UTF-8, cut to `max_bytes`.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max_bytes = 300);

using SystemTime = std::chrono::sys_seconds;
/// "2013-05-24T00:00:00.000Z" and the same without a fraction, which is dropped.
[[nodiscard]] std::optional<SystemTime> parse_iso_time(std::string_view text) noexcept;
/// "Fri, 24 May 2013 00:00:00 GMT" (RFC 9110, 5.6.7; its two obsolete forms are not read).
[[nodiscard]] std::optional<SystemTime> parse_http_date(std::string_view text) noexcept;
/// "20130524T000000Z", which begins with the date alone.
[[nodiscard]] std::string basic_iso_time(SystemTime time);

}  // namespace framewire::store
