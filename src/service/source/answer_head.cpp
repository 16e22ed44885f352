#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <charconv>
#include <service/source/answer_head.hpp>
#include <service/source/fetch_error.hpp>
#include <service/source/source_url.hpp>

namespace framewire::service::source {
namespace {

std::optional<std::uint64_t> number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_text(std::string_view value) noexcept {
  return std::none_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

bool is_redirect(unsigned status) noexcept {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

bool is_field_value(std::string_view value) noexcept {
  return !value.empty() && value.size() <= AnswerHead::kMaxValueBytes &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

bool AnswerHead::begin(std::string_view line) {
  if (complete_) return true;  // a trailer that looks like a head
  const std::size_t bytes = bytes_;
  const unsigned lines = lines_;
  *this = AnswerHead();
  bytes_ = bytes;
  lines_ = lines;
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return false;
  const auto status = number(line.substr(space + 1, 3));
  if (!status || *status < 100 || *status > 999) return false;
  status_ = static_cast<unsigned>(*status);
  return true;
}

bool AnswerHead::take(std::string_view line) {
  bytes_ += line.size();
  if (++lines_ > kMaxLines || bytes_ > kMaxBytes) return false;
  if (line.starts_with("HTTP/")) return begin(line);
  if (status_ == 0) return false;
  if (base::trim_white(line).empty()) {
    complete_ = complete_ || status_ >= 200;
    return true;
  }
  if (complete_) return true;
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, colon);
  // A space in a name is a folded line, or something that others read as another name.
  if (name.find_first_of(" \t") != std::string_view::npos) return false;
  return field(name, base::trim_white(line.substr(colon + 1)));
}

bool AnswerHead::field(std::string_view name, std::string_view value) {
  if (base::equals_ignoring_case(name, "content-length")) {
    const auto length = number(value);
    if (!length || (length_ && *length_ != *length) || chunked_) return false;
    length_ = length;
    return true;
  }
  if (base::equals_ignoring_case(name, "transfer-encoding")) {
    chunked_ = true;
    return !length_;
  }
  if (base::equals_ignoring_case(name, "content-encoding")) {
    const bool gzip =
        base::equals_ignoring_case(value, "gzip") || base::equals_ignoring_case(value, "x-gzip");
    encoded_ = encoded_ ||
               (gzip ? gzip_ : !(value.empty() || base::equals_ignoring_case(value, "identity")));
    gzip_ = gzip_ || gzip;
    return true;
  }
  if (base::equals_ignoring_case(name, "location")) {
    several_locations_ = location_.has_value();
    if (value.size() <= kMaxUrlBytes && is_text(value)) location_ = value;
    return true;
  }
  if (value.size() > kMaxValueBytes || !is_text(value)) return true;
  if (base::equals_ignoring_case(name, "etag")) etag_ = value;
  if (base::equals_ignoring_case(name, "last-modified")) last_modified_ = value;
  if (base::equals_ignoring_case(name, "content-type")) content_type_ = value;
  if (base::equals_ignoring_case(name, "cache-control")) cache_control_ = value;
  if (base::equals_ignoring_case(name, "expires")) expires_ = value;
  if (base::equals_ignoring_case(name, "age")) age_ = value;
  if (base::equals_ignoring_case(name, "vary")) vary_ = value;
  if (base::equals_ignoring_case(name, "content-range")) content_range_ = value;
  return true;
}

// "bytes 0-999/1000", of as many bytes as the body has.
bool AnswerHead::is_whole() const noexcept {
  std::string_view range = content_range_;
  if (range.size() < 6 || !base::equals_ignoring_case(range.substr(0, 6), "bytes ")) return false;
  range.remove_prefix(6);
  const std::size_t dash = range.find('-');
  const std::size_t slash = range.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return false;
  }
  const auto first = number(range.substr(0, dash));
  const auto last = number(range.substr(dash + 1, slash - dash - 1));
  const auto total = number(range.substr(slash + 1));
  return first == 0 && last && total && *total != 0 && *last == *total - 1 && length_ == total;
}

Fetched<AnswerHead::Meaning> AnswerHead::judge(bool conditional) const {
  if (is_redirect(status_)) {
    if (!location_ || several_locations_) {
      return fail_fetch(FetchErrorKind::kBadRedirect,
                        fmt::format("{} without one Location", status_));
    }
    return Meaning::kRedirect;
  }
  if (status_ == 304 && conditional) return Meaning::kNotModified;
  if (status_ != 200 && !(status_ == 206 && is_whole())) {
    return tl::unexpected(fetch_error(FetchErrorKind::kOriginStatus,
                                      fmt::format("the origin answered {}", status_), status_));
  }
  if (encoded_) {
    return fail_fetch(FetchErrorKind::kContentEncoding, "compressed in another way than gzip");
  }
  return Meaning::kBody;
}

void AnswerHead::describe(Original& original) const {
  original.etag = etag_;
  original.last_modified = last_modified_;
  original.content_type = content_type_;
  original.cache_control = cache_control_;
  original.expires = expires_;
  original.age = age_;
  original.vary = vary_;
}

}  // namespace framewire::service::source
