// Why a URL is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace framewire::service::url {

enum class RequestErrorKind : std::uint8_t {
  kInvalidUrl,       ///< the path has no such parts, or its source cannot be read
  kUnknownOption,    ///< no option has this name
  kInvalidArgument,  ///< an option's argument is malformed or out of range
  kForbiddenOption,  ///< the server's settings do not list this option
  kSecurityOption,   ///< only servers that allow security options take this one
  kExpired,          ///< the URL was valid until a moment that has passed
  kSignature,        ///< the signature is missing or wrong
  kUnsupported,      ///< valid, but not done from JPEG to JPEG here
  kNoMemory,         ///< memory ran out; the same request may succeed later
};

/// The stable word for a kind: "invalid_url", "unknown_option", …
[[nodiscard]] std::string_view to_string(RequestErrorKind kind) noexcept;

/// One refusal. `option` and `message` may be shown to strangers: printable ASCII of bounded length
/// that never repeats a secret. Both are empty for kNoMemory. `message` does not name the option:
/// whoever shows it does, as to_text() or error_response().
struct RequestError {
  RequestErrorKind kind = RequestErrorKind::kInvalidUrl;
  std::string option;   ///< its long name, for an unknown or forbidden one the name as written
  std::string message;  ///< what was found and what would be accepted; one sentence without a stop
};

template <typename T>
using Parsed = tl::expected<T, RequestError>;

/// "OPTION: MESSAGE", or the message alone where the refusal is about no option.
[[nodiscard]] std::string to_text(const RequestError& error);

/// Strangers' text for a message: between ' ', without control characters and bytes beyond ASCII,
/// cut after 60 characters.
[[nodiscard]] std::string quoted(std::string_view text);

[[nodiscard]] tl::unexpected<RequestError> refuse(RequestErrorKind kind, std::string_view option,
                                                  std::string message);

}  // namespace framewire::service::url
