#include <fmt/format.h>
#include <service/url/request_error.hpp>
#include <utility>

namespace framewire::service::url {
namespace {

constexpr std::size_t kMaxQuoted = 60;

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMaxQuoted)) {
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > kMaxQuoted) out += "...";
  return out;
}

}  // namespace

std::string_view to_string(RequestErrorKind kind) noexcept {
  switch (kind) {
    case RequestErrorKind::kInvalidUrl:
      return "invalid_url";
    case RequestErrorKind::kUnknownOption:
      return "unknown_option";
    case RequestErrorKind::kInvalidArgument:
      return "invalid_argument";
    case RequestErrorKind::kForbiddenOption:
      return "forbidden_option";
    case RequestErrorKind::kSecurityOption:
      return "security_option";
    case RequestErrorKind::kExpired:
      return "expired";
    case RequestErrorKind::kSignature:
      return "signature";
    case RequestErrorKind::kUnsupported:
      return "unsupported";
    case RequestErrorKind::kNoMemory:
      return "no_memory";
  }
  return "invalid_url";
}

std::string to_text(const RequestError& error) {
  return error.option.empty() ? error.message : error.option + ": " + error.message;
}

std::string quoted(std::string_view text) { return "'" + printable(text) + "'"; }

tl::unexpected<RequestError> refuse(RequestErrorKind kind, std::string_view option,
                                    std::string message) {
  return tl::unexpected<RequestError>(RequestError{kind, printable(option), std::move(message)});
}

}  // namespace framewire::service::url
