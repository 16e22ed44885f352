#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <base/utf8.hpp>
#include <store/object_store.hpp>
#include <store/text.hpp>

namespace framewire::store {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::size_t kMaxKeyBytes = 1'024;
constexpr std::size_t kMaxWebUrlBytes = 8'192;

// Names that S3 has ever allowed (capitals and underscores are of old buckets and other servers)
// and that cannot change the meaning of a URL.
bool is_bucket_name(std::string_view name) noexcept {
  return name.size() >= 3 && name.size() <= 255 && base::is_letter_or_digit(name.front()) &&
         base::is_letter_or_digit(name.back()) && name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return base::is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
         });
}

// Of "https://HOST/…", where '/' begins; npos for other URLs.
std::size_t web_host_begin(std::string_view text) noexcept {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (base::equals_ignoring_case(text.substr(0, scheme.size()), scheme)) return scheme.size();
  }
  return std::string_view::npos;
}

Result<ObjectUrl> parse_web_url(std::string_view text) {
  const std::size_t host = web_host_begin(text);
  const std::size_t slash = std::min(text.find('/', host), text.size());
  const std::string_view authority = text.substr(host, slash - host);
  const auto refuse = [&](std::string_view why) {
    // What stands before an '@' may be a password.
    const bool secret = authority.find('@') != std::string_view::npos;
    return fail(Status(StatusCode::kInvalidInput, std::string(why))
                    .about(secret ? "the address" : printable(without_query(text), 500)));
  };
  if (authority.find('@') != std::string_view::npos) {
    return refuse("has a user in it; accepted: http://HOST/PATH or https://HOST/PATH");
  }
  if (authority.empty()) return refuse("has no host; accepted: http://HOST/PATH");
  if (text.size() > kMaxWebUrlBytes) {
    return refuse(fmt::format("has {} bytes; accepted: up to {}", text.size(), kMaxWebUrlBytes));
  }
  const bool odd = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7f ||
           c == '#' || c == '\\' || c == '"' || c == '<' || c == '>';
  });
  if (odd) {
    return refuse(
        "has a fragment, or a character that must be written as %XX; accepted: an address as a "
        "browser shows it when it is copied");
  }
  return ObjectUrl{base::to_lower(text.substr(0, slash)),
                   std::string(text.substr(std::min(slash + 1, text.size())))};
}

}  // namespace

bool is_object_url(std::string_view text) noexcept { return text.starts_with(kScheme); }

bool is_web_url(std::string_view text) noexcept {
  return web_host_begin(text) != std::string_view::npos;
}

bool is_remote_url(std::string_view text) noexcept {
  return is_object_url(text) || is_web_url(text);
}

std::string_view without_query(std::string_view url) noexcept {
  return is_web_url(url) ? url.substr(0, url.find('?')) : url;
}

Result<ObjectUrl> parse_object_url(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(Status(StatusCode::kInvalidInput, std::string(why)).about(printable(text)));
  };
  if (is_web_url(text)) return parse_web_url(text);
  if (!is_object_url(text)) return refuse("is no URL of an object; accepted: s3://BUCKET/KEY");
  const std::string_view place = text.substr(kScheme.size());
  const std::size_t slash = std::min(place.find('/'), place.size());
  ObjectUrl url{std::string(place.substr(0, slash)), ""};
  if (slash < place.size()) url.key = place.substr(slash + 1);
  if (!is_bucket_name(url.bucket)) {
    return refuse(
        "has no name of a bucket behind s3://; accepted: 3 to 255 letters, digits, '-', '.' and "
        "'_', a letter or digit first and last");
  }
  if (url.key.size() > kMaxKeyBytes) {
    return refuse(
        fmt::format("has a key of {} bytes; S3 accepts {}", url.key.size(), kMaxKeyBytes));
  }
  if (!base::is_utf8(url.key)) return refuse("has a key that is not UTF-8, as S3 has all keys");
  if (url.key.find('\0') != std::string::npos) return refuse("has a key with a NUL in it");
  return url;
}

}  // namespace framewire::store
