// Answers, before they are bytes.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::http {

/// The status codes that this server answers with.
enum class Code : std::uint16_t {
  kOk = 200,
  kNotModified = 304,
  kBadRequest = 400,
  kForbidden = 403,
  kNotFound = 404,
  kMethodNotAllowed = 405,
  kRequestTimeout = 408,
  kLengthRequired = 411,
  kPayloadTooLarge = 413,
  kUriTooLong = 414,
  kUnsupportedMediaType = 415,
  kExpectationFailed = 417,
  kUnprocessable = 422,
  kTooManyRequests = 429,
  kHeadTooLarge = 431,
  kClientGone = 499,  ///< in logs and metrics alone
  kInternal = 500,
  kNotImplemented = 501,
  kBadGateway = 502,
  kUnavailable = 503,
  kGatewayTimeout = 504,
  kVersionNotSupported = 505,
};

/// Kinds of errors, for metrics.
enum class ErrorType : std::uint8_t {
  kNone,
  kRequest,      ///< no HTTP, a wrong option, a body of another kind
  kSecurity,     ///< signature, secret, or what settings do not allow
  kNotFound,     ///< no such path, option or original
  kTimeout,      ///< the client's, the origin's or our own time ran out
  kQueue,        ///< turned away: too much is under way, or the server is ending
  kDownloading,  ///< the origin fails
  kProcessing,   ///< the picture is damaged, too large or unsupported
  kInternal,     ///< ours
  kClientGone,
  kCount
};
/// "request", "security", …
[[nodiscard]] std::string_view to_string(ErrorType type) noexcept;
/// The kind of an answer. @param word  as of error_response(); may be empty
[[nodiscard]] ErrorType error_type(Code code, std::string_view word) noexcept;

/// "Not Found"; "Unknown" for a number that is none of the above.
[[nodiscard]] std::string_view reason_phrase(Code code) noexcept;

/// What the bytes of an answer's body count with, until it has been read.
enum class Charge : std::uint8_t {
  kAnswer,   ///< with the answer
  kKeeper,   ///< with what the keeper belongs to: many answers share them
  kNothing,  ///< with nothing: they are there anyway
};

/// One answer. The body is `text`, or bytes that `keeper` keeps: of this answer, or of many.
struct Response {
  Code code = Code::kOk;
  std::string_view content_type = "text/plain; charset=utf-8";  ///< static storage
  /// The value of Content-Security-Policy; static storage; empty: nothing may run or be loaded.
  std::string_view security_policy;
  std::string fields;  ///< further field lines, each with its end; see add_field()
  std::string text;
  std::span<const std::uint8_t> bytes;  ///< used where `keeper` is set
  std::shared_ptr<const void> keeper;
  Charge charge = Charge::kAnswer;
  bool close = false;   ///< the connection ends with this answer
  std::string message;  ///< of an error, for the log
  ErrorType error = ErrorType::kNone;

  [[nodiscard]] std::span<const std::uint8_t> body() const noexcept;
  /// Answers with bytes that are there anyway. @param owner  of them; null: static storage
  void use_shared(std::string_view body, const std::shared_ptr<const void>& owner = {}) noexcept;
  /// Appends "name: value". Control characters of the value become "_": nothing that came from a
  /// stranger begins a line of its own.
  void add_field(std::string_view name, std::string_view value);
};

/// The form in which errors are told.
enum class ErrorForm : std::uint8_t { kText, kJson };

/// An error that the server itself found. Retry-After is added to 429 and 503.
/// @param word     a stable word for programs: "invalid_input", "busy", "not_found", …
/// @param about    the option or field; may be empty
[[nodiscard]] Response error_response(ErrorForm form, Code code, std::string_view word,
                                      std::string_view message, std::string_view about = {});

/// An engine's error, or a limit's. invalid_input and unsupported concern the picture: 422.
[[nodiscard]] Response error_response(ErrorForm form, const Status& status);

/// The status code that an engine's error is answered with.
[[nodiscard]] Code code_of(StatusCode code) noexcept;

/// What every answer of a connection needs besides.
struct Envelope {
  std::string_view date;        ///< of the Date field
  std::string_view request_id;  ///< [A-Za-z0-9_-]+
  bool keep_alive = true;
  int minor_version = 1;  ///< of the request
};

/// The answer's head as bytes. Content-Length is that of the body also where none is sent (HEAD).
[[nodiscard]] std::string make_head(const Response& response, const Envelope& envelope);

/// "Sun, 06 Nov 1994 08:49:37 GMT" of a time in seconds since 1970.
[[nodiscard]] std::string http_date(std::int64_t unix_seconds);
/// As above, read back. @return −1 for any other form, the obsolete ones of RFC 9110 included
[[nodiscard]] std::int64_t parse_http_date(std::string_view text) noexcept;

/// The text as the inside of a JSON string. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_escaped(std::string_view text);

}  // namespace framewire::service::http
