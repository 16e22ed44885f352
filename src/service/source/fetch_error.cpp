#include <service/source/sources.hpp>

namespace framewire::service::source {

std::string_view to_string(FetchErrorKind kind) noexcept {
  switch (kind) {
    case FetchErrorKind::kNotFound:
      return "not_found";
    case FetchErrorKind::kSchemeNotAllowed:
      return "scheme_not_allowed";
    case FetchErrorKind::kSourceNotAllowed:
      return "source_not_allowed";
    case FetchErrorKind::kAddressNotAllowed:
      return "address_not_allowed";
    case FetchErrorKind::kBadUrl:
      return "bad_url";
    case FetchErrorKind::kResolve:
      return "resolve";
    case FetchErrorKind::kConnect:
      return "connect";
    case FetchErrorKind::kTls:
      return "tls";
    case FetchErrorKind::kTooManyRedirects:
      return "too_many_redirects";
    case FetchErrorKind::kBadRedirect:
      return "bad_redirect";
    case FetchErrorKind::kOriginStatus:
      return "origin_status";
    case FetchErrorKind::kBadAnswer:
      return "bad_answer";
    case FetchErrorKind::kContentEncoding:
      return "content_encoding";
    case FetchErrorKind::kTruncated:
      return "truncated";
    case FetchErrorKind::kTooLarge:
      return "too_large";
    case FetchErrorKind::kTimeout:
      return "timeout";
    case FetchErrorKind::kCancelled:
      return "cancelled";
    case FetchErrorKind::kBusy:
      return "busy";
    case FetchErrorKind::kIo:
      return "io";
  }
  return "io";
}

}  // namespace framewire::service::source
