#include <algorithm>
#include <base/ascii.hpp>
#include <store/http_answer_head.hpp>
#include <store/text.hpp>
#include <utility>

namespace framewire::store {
namespace {

bool is_text(std::string_view value) noexcept {
  return std::none_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

// RFC 9110 5.3: lines of one name are one list.
void add_to_list(std::string& list, std::string_view value, std::string_view strictest) {
  if (value.empty()) return;
  if (list.size() + value.size() > HttpAnswerHead::kMaxValueBytes || !is_text(value)) {
    list = strictest;
    return;
  }
  if (!list.empty()) list += ", ";
  list += value;
}

}  // namespace

bool HttpAnswerHead::is_redirect() const noexcept {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool HttpAnswerHead::begin(std::string_view line) {
  if (complete_) return true;  // a trailer that looks like a head
  HttpAnswerHead fresh;
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

bool HttpAnswerHead::take(std::string_view line) {
  bytes_ += line.size();
  if (++lines_ > kMaxLines || bytes_ > kMaxBytes) return false;
  if (line.starts_with("HTTP/")) return begin(line);
  if (status == 0) return false;
  if (base::trim_white(line).empty()) {
    complete_ = complete_ || status >= 200;
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

// Who reads the one length and who reads the other see another end of the body.
bool HttpAnswerHead::take_length(std::string_view value) {
  const auto number = parse_number(value);
  if (!number || (length && *length != *number) || transfer_encoded_) return false;
  length = number;
  return true;
}

void HttpAnswerHead::take_coding(std::string_view value) {
  if (value.empty() || base::equals_ignoring_case(value, "identity")) return;
  if (!content_encoding.empty()) content_encoding += ", ";
  content_encoding += value;
}

std::string* HttpAnswerHead::text_of(std::string_view name) noexcept {
  const std::pair<std::string_view, std::string*> texts[] = {
      {"age", &age},
      {"content-range", &content_range},
      {"content-type", &content_type},
      {"date", &date},
      {"etag", &etag},
      {"expires", &expires},
      {"last-modified", &last_modified},
      {"retry-after", &retry_after},
      {"x-amz-bucket-region", &bucket_region},
      {kMarkHeader, &mark},
      {kWriteIdHeader, &write_id}};
  for (const auto& [known, text] : texts) {
    if (base::equals_ignoring_case(name, known)) return text;
  }
  return nullptr;
}

bool HttpAnswerHead::field(std::string_view name, std::string_view value) {
  const auto is = [name](std::string_view known) {
    return base::equals_ignoring_case(name, known);
  };
  if (is("content-length")) return take_length(value);
  if (is("transfer-encoding")) {
    transfer_encoded_ = true;
    return !length;
  }
  if (is("content-encoding")) {
    take_coding(value);
  } else if (is("location")) {
    ++locations;
    if (value.size() <= kMaxLocationBytes && is_text(value)) location = value;
  } else if (is("cache-control")) {
    add_to_list(cache_control, value, "no-store");
  } else if (is("vary")) {
    add_to_list(vary, value, "*");
  } else if (std::string* const text = text_of(name)) {
    if (value.size() <= kMaxValueBytes && is_text(value)) *text = value;
  }
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
  if (bytes && *last >= *bytes) return std::nullopt;
  return ContentRange{*first, *last, bytes};
}

}  // namespace framewire::store
