#include <fmt/format.h>
#include <time.h>
#include <array>
#include <base/utf8.hpp>
#include <charconv>
#include <iterator>
#include <service/http/response.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

constexpr std::pair<Code, Text> kReasons[] = {
    {Code::kOk, "OK"},
    {Code::kNotModified, "Not Modified"},
    {Code::kBadRequest, "Bad Request"},
    {Code::kForbidden, "Forbidden"},
    {Code::kNotFound, "Not Found"},
    {Code::kMethodNotAllowed, "Method Not Allowed"},
    {Code::kRequestTimeout, "Request Timeout"},
    {Code::kLengthRequired, "Length Required"},
    {Code::kPayloadTooLarge, "Content Too Large"},
    {Code::kUriTooLong, "URI Too Long"},
    {Code::kUnsupportedMediaType, "Unsupported Media Type"},
    {Code::kExpectationFailed, "Expectation Failed"},
    {Code::kUnprocessable, "Unprocessable Content"},
    {Code::kTooManyRequests, "Too Many Requests"},
    {Code::kHeadTooLarge, "Request Header Fields Too Large"},
    {Code::kInternal, "Internal Server Error"},
    {Code::kNotImplemented, "Not Implemented"},
    {Code::kBadGateway, "Bad Gateway"},
    {Code::kUnavailable, "Service Unavailable"},
    {Code::kGatewayTimeout, "Gateway Timeout"},
    {Code::kVersionNotSupported, "HTTP Version Not Supported"},
};

constexpr std::array<Text, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<Text, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// Pictures are opened on their own, too; nothing in them, or in an error, is to run there.
constexpr Text kSecurityPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

bool read_number(Text text, int& out) noexcept {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && stop == text.data() + text.size() && text[0] != '-';
}

}  // namespace

Text to_string(ErrorType type) noexcept {
  constexpr Text kNames[] = {"none",  "request",     "security",   "not_found", "timeout",
                             "queue", "downloading", "processing", "internal",  "client_gone"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ErrorType::kCount));
  return type < ErrorType::kCount ? kNames[static_cast<std::size_t>(type)] : "none";
}

ErrorType error_type(Code code, Text word) noexcept {
  const auto number = static_cast<unsigned>(code);
  if (number < 400) return ErrorType::kNone;
  if (word == to_string(StatusCode::kDeadline) || word == "timeout") return ErrorType::kTimeout;
  if (word == "origin_status") return ErrorType::kDownloading;
  switch (code) {
    case Code::kForbidden:
      return ErrorType::kSecurity;
    case Code::kNotFound:
      return ErrorType::kNotFound;
    case Code::kRequestTimeout:
    case Code::kGatewayTimeout:
      return ErrorType::kTimeout;
    case Code::kUnprocessable:
      return ErrorType::kProcessing;
    case Code::kTooManyRequests:
    case Code::kUnavailable:
      return ErrorType::kQueue;
    case Code::kClientGone:
      return ErrorType::kClientGone;
    case Code::kBadGateway:
      return ErrorType::kDownloading;
    case Code::kInternal:
      return ErrorType::kInternal;
    default:
      return ErrorType::kRequest;
  }
}

Text reason_phrase(Code code) noexcept {
  for (const auto& [known, phrase] : kReasons) {
    if (known == code) return phrase;
  }
  return "Unknown";
}

std::span<const std::uint8_t> Response::body() const noexcept {
  if (keeper != nullptr) return bytes;
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void Response::use_shared(Text body, const std::shared_ptr<const void>& owner) noexcept {
  bytes = {reinterpret_cast<const std::uint8_t*>(body.data()), body.size()};
  keeper = {owner, body.data()};
  charge = Charge::kNothing;
}

void Response::add_field(Text name, Text value) {
  fields += name;
  fields += ": ";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    fields.push_back(byte < 0x20 || byte == 0x7F ? '_' : c);
  }
  fields += "\r\n";
}

std::string json_escaped(Text text) {
  std::string out;
  out.reserve(text.size() + 8);
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80) {
      const auto [code, length] = base::first_character(text.substr(i));
      if (length != 0 && base::is_unprintable(code)) {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
      } else {
        out += length == 0 ? Text("\xEF\xBF\xBD") : text.substr(i, length);
      }
      i += length == 0 ? 1 : length;
      continue;
    }
    if (byte == '"' || byte == '\\') {
      out.push_back('\\');
      out.push_back(text[i]);
    } else if (base::is_unprintable(byte)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else {
      out.push_back(text[i]);
    }
    ++i;
  }
  return out;
}

Response error_response(ErrorForm form, Code code, Text word, Text message, Text about) {
  Response response;
  response.code = code;
  response.error = error_type(code, word);
  response.message = about.empty() ? std::string(message) : fmt::format("{}: {}", about, message);
  if (form == ErrorForm::kJson) {
    response.content_type = "application/json";
    const std::string subject =
        about.empty() ? "" : fmt::format(R"(,"about":"{}")", json_escaped(about));
    response.text = fmt::format("{{\"error\":{{\"code\":\"{}\",\"message\":\"{}\"{}}}}}\n", word,
                                json_escaped(message), subject);
  } else {
    response.text = response.message + "\n";
  }
  if (code == Code::kTooManyRequests || code == Code::kUnavailable) {
    response.add_field("Retry-After", "1");
  }
  return response;
}

Code code_of(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::kInvalidInput:
    case StatusCode::kUnsupported:
    case StatusCode::kTooLarge:
      return Code::kUnprocessable;
    case StatusCode::kBusy:
    case StatusCode::kDeadline:
    case StatusCode::kDeviceLost:
    case StatusCode::kPeerLost:
      return Code::kUnavailable;
    case StatusCode::kCancelled:
      return Code::kClientGone;
    case StatusCode::kDenied:
      return Code::kForbidden;
    case StatusCode::kIoError:
    case StatusCode::kInternal:
      return Code::kInternal;
  }
  return Code::kInternal;
}

Response error_response(ErrorForm form, const Status& status) {
  std::string message = status.message();
  if (status.offset()) message += fmt::format(" (at byte {})", *status.offset());
  return error_response(form, code_of(status.code()), to_string(status.code()), message,
                        status.subject());
}

std::string make_head(const Response& response, const Envelope& envelope) {
  const bool keep = envelope.keep_alive && !response.close;
  Text connection = "";
  if (!keep) connection = "Connection: close\r\n";
  if (keep && envelope.minor_version == 0) connection = "Connection: keep-alive\r\n";
  const Text policy = response.security_policy.empty() ? kSecurityPolicy : response.security_policy;
  const Text reason = reason_phrase(response.code);
  const fmt::format_int code(static_cast<unsigned>(response.code));
  const fmt::format_int length(response.body().size());
  constexpr std::size_t kFixedBytes = 256;  // above what is not counted here
  std::string head;
  head.reserve(kFixedBytes + policy.size() + response.fields.size() + reason.size() +
               envelope.request_id.size() + response.content_type.size());
  const auto add = [&head](auto... parts) { (head.append(parts), ...); };
  add(Text("HTTP/1.1 "), Text(code.data(), code.size()), Text(" "), reason,
      Text("\r\nServer: framewire\r\nDate: "), envelope.date, Text("\r\nX-Request-ID: "),
      envelope.request_id, Text("\r\n"), connection, Text("Content-Security-Policy: "), policy,
      Text("\r\nX-Content-Type-Options: nosniff\r\n"), Text(response.fields));
  // RFC 9110 8.6: a 304 tells no length, unless it is that of the 200 it stands for.
  if (response.code != Code::kNotModified) {
    add(Text("Content-Type: "), response.content_type, Text("\r\nContent-Length: "),
        Text(length.data(), length.size()), Text("\r\n"));
  }
  head += "\r\n";
  return head;
}

std::string http_date(std::int64_t unix_seconds) {
  const time_t seconds = unix_seconds;
  tm utc{};
  if (::gmtime_r(&seconds, &utc) == nullptr) return "Thu, 01 Jan 1970 00:00:00 GMT";
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                     kMonths[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

std::int64_t parse_http_date(Text text) noexcept {
  // "Sun, 06 Nov 1994 08:49:37 GMT": every character has its place.
  if (text.size() != 29 || text.substr(25) != " GMT" || text.substr(3, 2) != ", " ||
      text[7] != ' ' || text[11] != ' ' || text[16] != ' ' || text[19] != ':' || text[22] != ':') {
    return -1;
  }
  tm utc{};
  int year = 0;
  if (!read_number(text.substr(5, 2), utc.tm_mday) || !read_number(text.substr(12, 4), year) ||
      !read_number(text.substr(17, 2), utc.tm_hour) ||
      !read_number(text.substr(20, 2), utc.tm_min) ||
      !read_number(text.substr(23, 2), utc.tm_sec)) {
    return -1;
  }
  for (std::size_t month = 0; month < kMonths.size(); ++month) {
    if (text.substr(8, 3) != kMonths[month]) continue;
    utc.tm_mon = static_cast<int>(month);
    utc.tm_year = year - 1900;
    if (utc.tm_mday > 31 || utc.tm_hour > 23 || utc.tm_min > 59 || utc.tm_sec > 60) return -1;
    return ::timegm(&utc);
  }
  return -1;
}

}  // namespace framewire::service::http
