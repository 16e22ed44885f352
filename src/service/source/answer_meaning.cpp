#include <fmt/format.h>
#include <algorithm>
#include <service/source/answer_meaning.hpp>
#include <service/source/fetch_error.hpp>
#include <store/s3/gunzip.hpp>

namespace framewire::service::source {
namespace {

using store::HttpAnswerHead;

// "bytes 0-999/1000", of as many bytes as the body has.
bool is_whole(const HttpAnswerHead& head) noexcept {
  const auto range = store::parse_content_range(head.content_range);
  return range && range->first == 0 && range->object_bytes &&
         range->last == *range->object_bytes - 1 && head.length == range->object_bytes;
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
  original.expires = head.expires;
  original.age = head.age;
  original.vary = head.vary;
}

}  // namespace framewire::service::source
