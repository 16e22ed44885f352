// The head of an HTTP/1.x request: read strictly, so that nobody in between can read it otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace framewire::service::http {

/// What bounds a head; all in bytes, save `fields`.
struct HeadBounds {
  std::size_t head_bytes = 32u << 10;    ///< request line, fields and the empty line
  std::size_t target_bytes = 16u << 10;  ///< the request target
  std::size_t fields = 100;              ///< field lines
};

/// One field line. The value has no white space around it.
struct Field {
  std::string_view name;
  std::string_view value;
};

/// A request's head. Views point into the text that parse_head() was given.
struct Head {
  std::string_view method;
  std::string_view
      target;  ///< of an absolute target what follows the authority; "/" if that is empty
  int minor_version = 1;  ///< of HTTP/1.x: 0 or 1
  std::vector<Field> fields;
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = true;  ///< the client lets the connection stay open
  bool expects_continue = false;

  [[nodiscard]] bool has_body() const noexcept { return chunked || content_length.value_or(0) > 0; }
  /// The value of the first field of that name, in any case; "" where there is none.
  [[nodiscard]] std::string_view get(std::string_view name) const noexcept;
  /// Whether there is a field of that name, however empty.
  [[nodiscard]] bool has(std::string_view name) const noexcept;
  /// The list that all fields of that name make together (RFC 9110 5.3).
  [[nodiscard]] std::string joined(std::string_view name) const;
};

/// Why a head is refused. The server maps these to status codes.
enum class HeadFault : std::uint8_t {
  kMalformed,         ///< not what RFC 9112 allows, or what two readers may read in two ways
  kHeadTooLong,       ///< head_bytes or fields exceeded
  kTargetTooLong,     ///< target_bytes exceeded
  kVersion,           ///< not HTTP/1.0 or HTTP/1.1
  kTransferEncoding,  ///< a transfer coding other than chunked
  kExpectation,       ///< an Expect other than 100-continue
};

struct HeadError {
  HeadFault fault = HeadFault::kMalformed;
  std::string message;  ///< one sentence for the client; never repeats the client's bytes
};

/// Looks for the end of a head in what has come so far.
/// @param text  all bytes since the head's first
/// @param seen  how many of them an earlier call looked at; updated
/// @return bytes of the head, its empty line included; 0 where that has not come yet; an error as
///         soon as the bytes can become no head: a line feed without carriage return, NUL, too many
[[nodiscard]] tl::expected<std::size_t, HeadError> find_head_end(std::string_view text,
                                                                 std::size_t& seen,
                                                                 const HeadBounds& bounds);

/// Reads a head. Stricter than RFC 9112 has to be: refuses folded fields, spaces before colons and
/// in targets, bare CR or LF, control characters, two lengths (also equal ones), a length beside a
/// transfer coding, anything but one Host in HTTP/1.1, and HTTP/1.0 with a transfer coding.
/// @param text  exactly one head, as find_head_end() found it
/// @cost linear in the text; one allocation
[[nodiscard]] tl::expected<Head, HeadError> parse_head(std::string_view text,
                                                       const HeadBounds& bounds);

/// Whether `token` is an element of a comma-separated list, in any case.
[[nodiscard]] bool list_has(std::string_view list, std::string_view token) noexcept;

/// Whether every byte may stand in an RFC 9110 token, and there is at least one.
[[nodiscard]] bool is_token(std::string_view text) noexcept;

}  // namespace framewire::service::http
