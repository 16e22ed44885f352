#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <charconv>
#include <service/source/fetch_error.hpp>
#include <service/source/source_url.hpp>
#include <store/object_store.hpp>

namespace framewire::service::source {
namespace {

constexpr std::size_t kMaxHostBytes = 253;  // RFC 1035, 2.3.4, as text
constexpr std::size_t kMaxLabelBytes = 63;
constexpr std::size_t kMaxSegmentBytes = 255;  // NAME_MAX
constexpr std::size_t kMaxPathBytes = 4'000;   // below PATH_MAX, the root's own name aside

bool has_control(std::string_view text) noexcept {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// Length of "scheme" in "scheme:…"; 0 where the text begins with no scheme.
std::size_t scheme_length(std::string_view text) noexcept {
  if (text.empty() || !base::is_letter(text[0])) return 0;
  for (std::size_t at = 1; at < text.size(); ++at) {
    const char c = text[at];
    if (c == ':') return at;
    if (!base::is_letter_or_digit(c) && c != '+' && c != '-' && c != '.') return 0;
  }
  return 0;
}

// Whether some parser might read the name as an IPv4 address: its last label is a number
// (the rule of the URL Standard: "ends in a number").
bool looks_numeric(std::string_view host) noexcept {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  if (std::all_of(last.begin(), last.end(), base::is_digit)) return true;
  return last.starts_with("0x");
}

bool is_name(std::string_view host) noexcept {
  if (host.empty() || host.size() > kMaxHostBytes) return false;
  while (true) {
    const std::size_t dot = host.find('.');
    const std::string_view label = host.substr(0, dot);
    if (label.empty() || label.size() > kMaxLabelBytes) return false;
    if (label.front() == '-' || label.back() == '-') return false;
    if (!std::all_of(label.begin(), label.end(),
                     [](char c) { return base::is_letter_or_digit(c) || c == '-' || c == '_'; })) {
      return false;
    }
    if (dot == std::string_view::npos) return true;
    host.remove_prefix(dot + 1);
  }
}

Fetched<void> read_host(std::string_view text, SourceUrl& url) {
  if (text.starts_with('[')) {
    if (!text.ends_with(']')) return fail_fetch(FetchErrorKind::kBadUrl, "an unclosed [");
    url.address = parse_address(text.substr(1, text.size() - 2));
    if (!url.address || !url.address->v6) {
      return fail_fetch(FetchErrorKind::kBadUrl, "[] holds no IPv6 address");
    }
    url.host = to_string(*url.address);
    return {};
  }
  if (text.ends_with('.')) text.remove_suffix(1);
  url.host = base::to_lower(text);
  if (!is_name(url.host)) return fail_fetch(FetchErrorKind::kBadUrl, "the host is no name");
  if (!looks_numeric(url.host)) return {};
  url.address = parse_address(url.host);
  if (!url.address) {
    return fail_fetch(FetchErrorKind::kBadUrl, "the host is a number, and no address a.b.c.d");
  }
  return {};
}

Fetched<void> read_authority(std::string_view text, SourceUrl& url) {
  if (text.find('@') != std::string_view::npos) {
    return fail_fetch(FetchErrorKind::kBadUrl, "a user name or password in the URL");
  }
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (auto read = read_host(text.substr(0, colon), url); !read) return read;
  url.port = url.scheme == Scheme::kHttps ? 443 : 80;
  if (colon == std::string_view::npos) return {};
  const std::string_view digits = text.substr(colon + 1);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || port == 0 || port > 65'535) {
    return fail_fetch(FetchErrorKind::kBadUrl, "the port is no number from 1 to 65535");
  }
  url.port = static_cast<std::uint16_t>(port);
  return {};
}

// Path or query in the form that is sent: what no URL may hold is percent-encoded.
Fetched<std::string> encode(std::string_view text) {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%') {
      if (escaped_byte(text, at) < 0) return fail_fetch(FetchErrorKind::kBadUrl, "a broken escape");
      // A NUL, or an end of line, has no place in any name, however it is written.
      if (escaped_byte(text, at) < 0x20) {
        return fail_fetch(FetchErrorKind::kBadUrl, "an escaped control character");
      }
    }
    if (byte <= 0x20 || byte >= 0x7f ||
        std::string_view("\"<>^`{|}").find(c) != std::string_view::npos) {
      result += fmt::format("%{:02X}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

// "." and ".." in any spelling, or something else: 1, 2, 0.
int dots(std::string_view segment) noexcept {
  int count = 0;
  while (!segment.empty()) {
    if (segment[0] == '.') {
      segment.remove_prefix(1);
    } else if (escaped_byte(segment, 0) == '.') {
      segment.remove_prefix(3);
    } else {
      return 0;
    }
    ++count;
  }
  return count <= 2 ? count : 0;
}

// RFC 3986, 5.2.4, with escaped dots read as dots; begins with '/' unless empty.
std::string without_dot_segments(std::string_view path) {
  std::string result;
  result.reserve(path.size());
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(1, end - 1);
    path.remove_prefix(end);
    const int count = dots(segment);
    if (count == 0) {
      result += '/';
      result += segment;
      continue;
    }
    if (count == 2) result.resize(std::min(result.size(), result.rfind('/')));
    if (path.empty()) result += '/';
  }
  return result;
}

// Reads what follows the authority: path, query, fragment. `path` is empty or begins with '/'.
Fetched<void> read_rest(std::string_view rest, SourceUrl& url) {
  rest = rest.substr(0, rest.find('#'));
  const std::size_t question = std::min(rest.find('?'), rest.size());
  auto path = encode(rest.substr(0, question));
  if (!path) return tl::unexpected(std::move(path.error()));
  auto query = encode(rest.substr(question));
  if (!query) return tl::unexpected(std::move(query.error()));
  url.path = without_dot_segments(*path);
  url.query = std::move(*query);
  return {};
}

Fetched<SourceUrl> parse_http(Scheme scheme, std::string_view rest) {
  if (!rest.starts_with("//")) {
    return fail_fetch(FetchErrorKind::kBadUrl, "no // behind the scheme");
  }
  rest.remove_prefix(2);
  if (rest.find('\\') != std::string_view::npos) {
    return fail_fetch(FetchErrorKind::kBadUrl, "a backslash, which some read as /");
  }
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  SourceUrl url;
  url.scheme = scheme;
  if (auto read = read_authority(rest.substr(0, end), url); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  if (auto read = read_rest(rest.substr(end), url); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  return url;
}

Fetched<SourceUrl> parse_local(std::string_view path) {
  if (path.empty() || path.ends_with('/')) {
    return fail_fetch(FetchErrorKind::kNotFound, "the name of a folder, or none");
  }
  const auto segments = clean_segments(path);
  if (!segments || segments->empty()) {
    return fail_fetch(FetchErrorKind::kNotFound, "a path that leads out of the root");
  }
  SourceUrl url;
  for (const std::string_view segment : *segments) {
    if (segment.size() > kMaxSegmentBytes) {
      return fail_fetch(FetchErrorKind::kNotFound, "a name longer than any file's");
    }
    url.path += '/';
    url.path += segment;
  }
  if (url.path.size() > kMaxPathBytes) {
    return fail_fetch(FetchErrorKind::kNotFound, "a path longer than any file's");
  }
  return url;
}

bool has_dot_segments(std::string_view key) noexcept {
  while (true) {
    const std::size_t slash = key.find('/');
    const std::string_view segment = key.substr(0, slash);
    if (segment == "." || segment == "..") return true;
    if (slash == std::string_view::npos) return false;
    key.remove_prefix(slash + 1);
  }
}

Fetched<SourceUrl> parse_object(std::string_view rest, std::string_view version_separator) {
  if (!rest.starts_with("//")) {
    return fail_fetch(FetchErrorKind::kBadUrl, "no // behind the scheme");
  }
  const std::size_t key_begin = std::min(rest.find('/', 2), rest.size());
  // An empty separator would be found at once.
  const std::size_t key_end = version_separator.empty()
                                  ? rest.size()
                                  : std::min(rest.find(version_separator, key_begin), rest.size());
  auto object = store::parse_object_url(fmt::format("s3:{}", rest.substr(0, key_end)));
  if (!object) return fail_fetch(FetchErrorKind::kBadUrl, "an object " + object.error().message());
  if (object->key.empty()) return fail_fetch(FetchErrorKind::kBadUrl, "an object without a key");
  if (has_dot_segments(object->key)) {
    return fail_fetch(FetchErrorKind::kBadUrl, "a key with a . or .. segment");
  }
  SourceUrl url;
  url.scheme = Scheme::kS3;
  url.host = std::move(object->bucket);
  url.path = '/' + object->key;
  url.query = rest.substr(key_end);
  return url;
}

}  // namespace

std::string_view to_string(Scheme scheme) noexcept {
  switch (scheme) {
    case Scheme::kLocal:
      return "local";
    case Scheme::kHttp:
      return "http";
    case Scheme::kS3:
      return "s3";
    case Scheme::kHttps:
      break;
  }
  return "https";
}

std::string SourceUrl::origin() const {
  std::string result = fmt::format("{}://", to_string(scheme));
  if (scheme == Scheme::kLocal) return result;
  result += address && address->v6 ? "[" + host + "]" : host;
  if (scheme == Scheme::kS3) return result;
  if (port != (scheme == Scheme::kHttps ? 443 : 80)) result += fmt::format(":{}", port);
  return result;
}

std::string SourceUrl::text() const { return origin() + path + query; }

int escaped_byte(std::string_view text, std::size_t percent) noexcept {
  if (percent >= text.size() || text[percent] != '%' || text.size() - percent < 3) return -1;
  unsigned value = 0;
  const char* begin = text.data() + percent + 1;
  const auto [end, error] = std::from_chars(begin, begin + 2, value, 16);
  return error == std::errc{} && end == begin + 2 ? static_cast<int>(value) : -1;
}

std::optional<std::vector<std::string_view>> clean_segments(std::string_view path) {
  std::vector<std::string_view> result;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (segment.empty() || segment == ".") continue;
    if (segment != "..") {
      result.push_back(segment);
    } else if (result.empty()) {
      return std::nullopt;
    } else {
      result.pop_back();
    }
  }
  return result;
}

Fetched<SourceUrl> parse_source(std::string_view text, std::string_view version_separator) {
  if (text.size() > kMaxUrlBytes) {
    return fail_fetch(FetchErrorKind::kBadUrl,
                      fmt::format("{} bytes; {} are accepted", text.size(), kMaxUrlBytes));
  }
  if (has_control(text)) return fail_fetch(FetchErrorKind::kBadUrl, "a control character");
  const std::size_t length = scheme_length(text);
  if (length == 0) return parse_local(text);
  const std::string scheme = base::to_lower(text.substr(0, length));
  const std::string_view rest = text.substr(length + 1);
  if (scheme == "http") return parse_http(Scheme::kHttp, rest);
  if (scheme == "https") return parse_http(Scheme::kHttps, rest);
  if (scheme == "s3") return parse_object(rest, version_separator);
  if (scheme != "local") {
    return fail_fetch(FetchErrorKind::kSchemeNotAllowed,
                      "found " + scheme + ":; http, https, local and s3 are known");
  }
  if (!rest.starts_with("///")) return fail_fetch(FetchErrorKind::kBadUrl, "local: without ///");
  return parse_local(rest.substr(3));
}

Fetched<SourceUrl> resolve_redirect(const SourceUrl& base, std::string_view location) {
  if (location.size() > kMaxUrlBytes || has_control(location)) {
    return fail_fetch(FetchErrorKind::kBadUrl, "a Location too long, or with control characters");
  }
  if (scheme_length(location) != 0) {
    auto url = parse_source(location);
    if (url && url->scheme != Scheme::kHttp && url->scheme != Scheme::kHttps) {
      return fail_fetch(FetchErrorKind::kSchemeNotAllowed, "a redirect to a file or an object");
    }
    return url;
  }
  if (location.starts_with("//")) return parse_http(base.scheme, location);
  if (location.find('\\') != std::string_view::npos) {
    return fail_fetch(FetchErrorKind::kBadUrl, "a backslash, which some read as /");
  }
  std::string rest;
  if (location.starts_with('/')) {
    rest = location;
  } else if (location.starts_with('?')) {
    rest = base.path + std::string(location);
  } else if (location.empty() || location.starts_with('#')) {
    rest = base.path + base.query;
  } else {
    rest = base.path.substr(0, base.path.rfind('/') + 1);
    if (rest.empty()) rest = "/";
    rest += location;
  }
  SourceUrl url = base;
  if (auto read = read_rest(rest, url); !read) return tl::unexpected(std::move(read.error()));
  return url;
}

}  // namespace framewire::service::source
