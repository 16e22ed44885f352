// Sources from strangers: the first line is an entry of the allowed sources, the second a source,
// the third where a redirect leads from there, the fourth a path of the same origin; all lines
// together are the head of an answer.
//
// Beyond not crashing: a source that is accepted is written in a form that reads back as itself;
// holds nothing that ends a line or begins another host; has a host that no parser reads as another
// address; and what an entry with a path lets in stays below that path.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <service/source/allowed_sources.hpp>
#include <service/source/answer_meaning.hpp>
#include <service/source/source_url.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {

using framewire::service::source::AllowedSources;
using framewire::service::source::Scheme;
using framewire::service::source::SourceUrl;
using framewire::store::HttpAnswerHead;
namespace source = framewire::service::source;

void require(bool held) {
  if (!held) std::abort();
}

std::string_view line_of(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void check(const SourceUrl& url) {
  const std::string text = url.text();
  const auto again = source::parse_source(text);
  // Encoding may make a text longer than any that is read.
  if (text.size() <= source::kMaxUrlBytes) {
    require(again.has_value());
    require(again->text() == text);
    require(again->host == url.host && again->port == url.port && again->path == url.path);
  }
  if (url.scheme == Scheme::kLocal) {
    require(url.path.find("/../") == std::string::npos && !url.path.ends_with("/.."));
    require(url.path.find("//") == std::string::npos && !url.path.ends_with('/'));
    require(url.path.find('\0') == std::string::npos);
    return;
  }
  if (url.scheme == Scheme::kS3) {
    require(url.host.size() >= 3 && url.host.find_first_of("/@?#%:") == std::string::npos);
    require(url.path.size() >= 2 && url.path.starts_with('/'));
    require(url.path.find("/../") == std::string::npos && !url.path.ends_with("/.."));
    require(url.port == 0 && !url.address);
    return;
  }
  for (const char c : text) require(c > 0x20 && c < 0x7f && c != '\\');
  require(url.host.find_first_of("/@?#%") == std::string::npos);
  require(url.address || !url.host.empty());
  require(url.port != 0);
  require(url.path.empty() || url.path.starts_with('/'));
  require(url.path.find("/../") == std::string::npos && !url.path.ends_with("/.."));
}

void check_allowed(std::string_view entry, const SourceUrl& url) {
  const std::vector<std::string> entries = {std::string(entry)};
  const auto list = AllowedSources::parse(entries);
  if (!list || !list->allows(url)) return;
  require(entry.find("://") != std::string_view::npos);
  // What is allowed has the entry's scheme.
  const std::string_view scheme = entry.substr(0, entry.find(':'));
  require(scheme.size() == to_string(url.scheme).size());
  const std::size_t slash = entry.find('/', entry.find("://") + 3);
  const bool whole_host = slash == std::string_view::npos || slash + 1 == entry.size();
  if (url.scheme == Scheme::kLocal || whole_host) return;
  require(!source::hides_dot_segments(url.path));
}

void read_head(std::string_view text) {
  HttpAnswerHead head;
  std::size_t taken = 0;
  while (!text.empty()) {
    if (!head.take(line_of(text))) break;
    require(++taken <= HttpAnswerHead::kMaxLines);
  }
  if (!head.complete()) return;
  const auto meaning = source::judge(head, true);
  if (meaning && *meaning == source::AnswerMeaning::kRedirect) require(!head.location.empty());
  source::Original original;
  source::describe(head, original);
  for (const std::string* value : {&original.etag, &original.last_modified, &original.content_type,
                                   &original.cache_control, &original.expires}) {
    require(value->find_first_of("\r\n") == std::string::npos);
    require(value->size() <= HttpAnswerHead::kMaxValueBytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  read_head(text);
  const std::string_view entry = line_of(text);
  const std::string_view first = line_of(text);
  const std::string_view location = line_of(text);
  const auto url = source::parse_source(first);
  if (const auto address = source::parse_address(first)) {
    require(source::parse_address(to_string(*address)) == address);
    (void)source::classify(*address);
  }
  if (!url) {
    require(url.error().message.find('\n') == std::string::npos);
    return 0;
  }
  check(*url);
  check_allowed(entry, *url);
  if (url->scheme == Scheme::kLocal || url->scheme == Scheme::kS3) return 0;
  if (const auto next = source::resolve_redirect(*url, location)) {
    require(next->scheme == Scheme::kHttp || next->scheme == Scheme::kHttps);
    check(*next);
    check_allowed(entry, *next);
  }
  return 0;
}
