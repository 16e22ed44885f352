#include <base/ascii.hpp>
#include <store/s3/answer_fields.hpp>
#include <store/text.hpp>

namespace framewire::store::s3 {

bool AnswerFields::begin(std::string_view line) {
  if (complete_) return true;  // a trailer that looks like a head
  AnswerFields fresh;
  fresh.bytes_ = bytes_;
  fresh.lines_ = lines_;
  *this = std::move(fresh);
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return false;
  const auto number = parse_number(line.substr(space + 1, 3));
  if (!number || *number < 100 || *number > 999) return false;
  status = static_cast<unsigned>(*number);
  return true;
}

bool AnswerFields::take(std::string_view line) {
  bytes_ += line.size();
  if (++lines_ > kMaxLines || bytes_ > kMaxBytes) return false;
  if (line.starts_with("HTTP/")) return begin(line);
  if (status == 0) return false;
  if (base::trim_white(line).empty()) {
    complete_ = complete_ || status >= 200;
    return true;
  }
  const std::size_t colon = line.find(':');
  if (complete_ || colon == std::string_view::npos) return true;
  return field(line.substr(0, colon), base::trim_white(line.substr(colon + 1)));
}

bool AnswerFields::field(std::string_view name, std::string_view value) {
  constexpr std::size_t kMaxValueBytes = 1'024;
  const bool is_location = base::equals_ignoring_case(name, "location");
  if (value.size() > (is_location ? kMaxLocationBytes : kMaxValueBytes)) return true;
  const auto is = [&](std::string_view known) { return base::equals_ignoring_case(name, known); };
  if (is("content-length")) {
    const auto number = parse_number(value);
    if (!number || (length && *length != *number)) return false;
    length = number;
  }
  if (is("etag")) etag = value;
  if (is("content-range")) content_range = value;
  if (is("date")) date = value;
  if (is("retry-after")) retry_after = value;
  if (is("last-modified")) last_modified = value;
  if (is_location) {
    if (!location.empty() && location != value) return false;
    location = value;
  }
  if (is("x-amz-bucket-region")) bucket_region = value;
  if (is(kWriteIdHeader)) write_id = value;
  if (is("content-type")) content_type = value;
  if (is("content-encoding")) content_encoding = value;
  if (is("cache-control")) cache_control = value;
  if (is("expires")) expires = value;
  return true;
}

std::optional<ContentRange> parse_content_range(std::string_view value) noexcept {
  constexpr std::string_view kUnit = "bytes ";
  if (!base::equals_ignoring_case(value.substr(0, kUnit.size()), kUnit)) return std::nullopt;
  value.remove_prefix(kUnit.size());
  const std::size_t dash = value.find('-');
  const std::size_t slash = value.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  const auto first = parse_number(value.substr(0, dash));
  const auto last = parse_number(value.substr(dash + 1, slash - dash - 1));
  const std::string_view total = value.substr(slash + 1);
  const auto bytes = parse_number(total);
  if (!first || !last || *first > *last || (total != "*" && !bytes)) return std::nullopt;
  return ContentRange{*first, *last, bytes};
}

}  // namespace framewire::store::s3
