#include <service/http/fetch_answer.hpp>

namespace framewire::service::http {
namespace {

// 4xx are the origin's own, 5xx a bad gateway; whatever else it says, there is no original.
Code code_of_origin(unsigned status) noexcept {
  // These speak of this service's own connection, which is not the client's.
  if (status == 407 || status == 408 || status == 499) return Code::kBadGateway;
  if (status >= 400 && status < 500) return static_cast<Code>(status);
  if (status >= 500 && status < 600) return Code::kBadGateway;
  return Code::kNotFound;
}

constexpr std::string_view message_of_origin(unsigned status) noexcept {
  if (status >= 500 && status < 600) return "the origin failed";
  const bool none = status == 404 || status == 410;
  return none ? "the origin has no such original" : "the origin did not hand on the original";
}

}  // namespace

FetchAnswer fetch_answer(const source::FetchError& error) noexcept {
  using Kind = source::FetchErrorKind;
  const std::string_view word = source::to_string(error.kind);
  switch (error.kind) {
    case Kind::kNotFound:
    case Kind::kSchemeNotAllowed:
    case Kind::kSourceNotAllowed:
    case Kind::kAddressNotAllowed:
    case Kind::kBadUrl:
    case Kind::kResolve:
    case Kind::kConnect:
    case Kind::kTls:
    case Kind::kTooManyRedirects:
    case Kind::kBadRedirect:
      // One answer for all: URLs name origins, and what is on the inside is not to be told from
      // outside. The object store is the operator's own, and its failures are the server's.
      return {Code::kNotFound, "not_found", "there is no such original"};
    case Kind::kStore:
      return {Code::kBadGateway, word, "the object store failed"};
    case Kind::kOriginStatus:
      return {code_of_origin(error.origin_status), word, message_of_origin(error.origin_status)};
    case Kind::kBadAnswer:
      return {Code::kBadGateway, word, "the origin's answer makes no sense"};
    case Kind::kContentEncoding:
      return {Code::kBadGateway, word,
              "the origin compressed its answer; accepted: gzip, or not at all"};
    case Kind::kTruncated:
      return {Code::kUnprocessable, word, "the original ended early"};
    case Kind::kTooLarge:
      return {Code::kUnprocessable, word, "the original is too large"};
    case Kind::kTimeout:
      return {Code::kGatewayTimeout, word, "the original did not come in time"};
    case Kind::kCancelled:
      return {Code::kUnavailable, word, "the request was given up"};
    case Kind::kBusy:
      return {Code::kUnavailable, word, "too many originals are being fetched"};
    case Kind::kIo:
      return {Code::kInternal, word, "the original could not be read"};
  }
  return {};
}

}  // namespace framewire::service::http
