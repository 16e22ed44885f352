#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <service/source/answer_meaning.hpp>
#include <service/source/fetch_error.hpp>
#include <service/source/file_reader.hpp>
#include <store/s3/gunzip.hpp>
#include <store/text.hpp>

namespace framewire::service::source {
namespace {

using store::HttpAnswerHead;

// "bytes 0-999/1000", of as many bytes as the body has.
bool is_whole(const HttpAnswerHead& head) noexcept {
  const auto range = store::parse_content_range(head.content_range);
  return range && range->first == 0 && range->object_bytes &&
         range->last == *range->object_bytes - 1 && head.length == range->object_bytes;
}

// Expires is a moment by the clock of who said it, which Date tells (RFC 9111 4.2.1).
// @return the moment by our clock; what there is where either cannot be read
std::string expires_here(const HttpAnswerHead& head) {
  const auto expires = store::parse_http_date(head.expires);
  const auto date = store::parse_http_date(head.date);
  if (!expires || !date) return head.expires;
  constexpr std::uint64_t kMaxAge_s = std::uint64_t{1} << 31;
  const auto age_s = std::min(store::parse_number(head.age).value_or(0), kMaxAge_s);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto here = now + (*expires - *date) - std::chrono::seconds(age_s);
  const std::string text = http_date(here.time_since_epoch().count());
  return text.empty() ? head.expires : text;  // years that no date can say
}

}  // namespace

bool is_field_value(std::string_view value) noexcept {
  return !value.empty() && value.size() <= HttpAnswerHead::kMaxValueBytes &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

Fetched<AnswerMeaning> judge(const HttpAnswerHead& head, bool conditional) {
  if (head.is_redirect()) {
    if (head.locations != 1 || head.location.empty()) {
      return fail_fetch(FetchErrorKind::kBadRedirect,
                        fmt::format("{} without one Location", head.status));
    }
    return AnswerMeaning::kRedirect;
  }
  if (head.status == 304 && conditional) return AnswerMeaning::kNotModified;
  if (head.status != 200 && !(head.status == 206 && is_whole(head))) {
    return tl::unexpected(fetch_error(FetchErrorKind::kOriginStatus,
                                      fmt::format("the origin answered {}", head.status),
                                      head.status));
  }
  if (!head.content_encoding.empty() && !store::s3::is_gzip(head.content_encoding)) {
    return fail_fetch(FetchErrorKind::kContentEncoding, "compressed in another way than gzip");
  }
  return AnswerMeaning::kBody;
}

void describe(const HttpAnswerHead& head, Original& original) {
  original.etag = head.etag;
  original.last_modified = head.last_modified;
  original.content_type = head.content_type;
  original.cache_control = head.cache_control;
  original.expires = expires_here(head);
  original.age = head.age;
  original.vary = head.vary;
}

}  // namespace framewire::service::source
