#include <new>
#include <service/source/fetch_error.hpp>

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
    case FetchErrorKind::kStore:
      return "store";
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

FetchError fetch_error(FetchErrorKind kind, std::string_view message,
                       unsigned origin_status) noexcept {
  constexpr std::size_t kMaxMessageBytes = 512;
  FetchError error;
  error.kind = kind;
  error.origin_status = origin_status;
  try {
    error.message = message.substr(0, kMaxMessageBytes);
    for (char& c : error.message) {
      if (c < 0x20 || c > 0x7e) c = '?';
    }
  } catch (const std::bad_alloc&) {
    error.message.clear();
  }
  return error;
}

}  // namespace framewire::service::source
