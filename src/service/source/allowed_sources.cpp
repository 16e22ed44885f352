#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <service/source/allowed_sources.hpp>

namespace framewire::service::source {
namespace {

constexpr std::size_t kMaxEntries = 1'024;

tl::unexpected<Status> wrong(const std::string& entry, std::string found) {
  return fail(
      Status(StatusCode::kInvalidInput,
             "an allowed source: " + std::move(found) +
                 "; accepted is scheme://host[:port]/path, s3://bucket/key or local:///path")
          .about(entry));
}

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> result;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    result.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return result;
}

std::string decoded(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const int byte = escaped_byte(text, at);
    result += byte >= 0 ? static_cast<char>(byte) : text[at];
    if (byte >= 0) at += 2;
  }
  return result;
}

bool has_dot_segment(std::string_view path) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of("/\\"), path.size());
    // Some servers cut parameters off before they look at the segment: "..;x".
    const std::string_view segment = path.substr(0, end);
    if (segment.substr(0, segment.find(';')) == "..") return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) noexcept {
  std::size_t at_pattern = 0;
  std::size_t at_text = 0;
  std::size_t star = std::string_view::npos;  // the last '*' passed
  std::size_t star_end = 0;                   // the end of what it stands for
  while (at_text < text.size()) {
    if (at_pattern < pattern.size() && pattern[at_pattern] == '*') {
      star = at_pattern++;
      star_end = ++at_text;  // one character at least
    } else if (at_pattern < pattern.size() && pattern[at_pattern] == text[at_text]) {
      ++at_pattern;
      ++at_text;
    } else if (star != std::string_view::npos) {
      at_pattern = star + 1;
      at_text = ++star_end;
    } else {
      return false;
    }
  }
  return at_pattern == pattern.size();
}

bool hides_dot_segments(std::string_view path) {
  std::string current(path);
  for (int times = 0; times <= 4; ++times) {
    if (has_dot_segment(current)) return true;
    std::string next = decoded(current);
    if (next == current) return false;
    current = std::move(next);
  }
  return true;
}

Result<void> AllowedSources::read_host(const std::string& text, std::string_view authority,
                                       std::string_view path, Entry& entry) {
  const bool any_port = authority.ends_with(":*");
  if (any_port) authority.remove_suffix(2);
  // Each `*` is read as a letter, which the parser takes for a part of a name.
  std::string probe(authority);
  std::replace(probe.begin(), probe.end(), '*', 'a');
  const bool pattern = probe != authority;
  if (pattern && probe.starts_with('[')) return wrong(text, "found * in an IPv6 address");
  const auto url = parse_source(fmt::format("{}://{}{}", entry.scheme, probe, path));
  if (!url) return wrong(text, "found " + url.error().message);
  if (!any_port) entry.port = url->port;
  entry.host = pattern ? base::to_lower(authority.substr(0, authority.find(':'))) : url->host;
  if (pattern && entry.host.ends_with('.')) entry.host.pop_back();
  entry.path = url->path;
  return {};
}

Result<AllowedSources::Entry> AllowedSources::parse_entry(const std::string& text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string::npos) return wrong(text, "found no scheme");
  if (text.find_first_of("?#@\\") != std::string::npos) return wrong(text, "found one of ? # @ \\");
  if (text.find("**") != std::string::npos) return wrong(text, "found **");
  Entry entry;
  entry.scheme = base::to_lower(std::string_view(text).substr(0, colon));
  if (entry.scheme.find('*') != std::string::npos) return wrong(text, "found * in the scheme");
  const std::string_view rest = std::string_view(text).substr(colon + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view authority = rest.substr(0, slash);
  if (entry.scheme == "http" || entry.scheme == "https") {
    const Result<void> read = read_host(text, authority, rest.substr(slash), entry);
    if (!read) return fail(read.error());
  } else {
    // Schemes that nothing here fetches are kept, so that lists made for other services hold.
    entry.host = authority;
    entry.path = rest.substr(slash);
    if (entry.scheme == "local" && !authority.empty()) return wrong(text, "found a host of files");
    if (entry.scheme == "s3" && authority.empty()) return wrong(text, "found no bucket");
  }
  entry.below = entry.path.ends_with('/');
  for (const std::string_view segment : split(entry.path)) entry.segments.emplace_back(segment);
  if (entry.below) entry.segments.pop_back();
  for (const std::string& segment : entry.segments) {
    if (segment.empty() || segment == "." || segment == "..") {
      return wrong(text, "found a segment that is empty, . or ..");
    }
  }
  return entry;
}

Result<AllowedSources> AllowedSources::parse(std::span<const std::string> entries) {
  if (entries.size() > kMaxEntries) {
    return fail(StatusCode::kTooLarge, "more than 1,024 allowed sources");
  }
  AllowedSources result;
  for (const std::string& text : entries) {
    auto entry = parse_entry(text);
    if (!entry) return tl::unexpected(std::move(entry.error()));
    result.entries_.push_back(std::move(*entry));
  }
  return result;
}

bool AllowedSources::matches(const Entry& entry, const SourceUrl& url, bool hides_dots) {
  if (entry.scheme != to_string(url.scheme)) return false;
  if (url.scheme != Scheme::kLocal) {
    if (entry.port && *entry.port != url.port) return false;
    if (!matches_pattern(entry.host, url.host)) return false;
  }
  if (hides_dots && !entry.segments.empty()) return false;
  const std::vector<std::string_view> segments = split(url.path);
  if (segments.size() < entry.segments.size() + (entry.below ? 1 : 0)) return false;
  return std::equal(entry.segments.begin(), entry.segments.end(), segments.begin(),
                    [](const std::string& pattern, std::string_view segment) {
                      return matches_pattern(pattern, segment);
                    });
}

bool AllowedSources::allows(const SourceUrl& url) const {
  if (entries_.empty()) return true;
  // Names of files are taken literally; nothing is decoded.
  const bool hides_dots = url.scheme != Scheme::kLocal && hides_dot_segments(url.path);
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return matches(entry, url, hides_dots); });
}

}  // namespace framewire::service::source
