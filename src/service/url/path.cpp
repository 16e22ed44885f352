#include <fmt/format.h>
#include <base/ascii.hpp>
#include <service/url/path.hpp>
#include <service/url/text.hpp>

namespace framewire::service::url {
namespace {

// The length of "scheme" in "scheme:/x", where a proxy has merged slashes; 0 for any other text.
std::size_t merged_scheme(std::string_view source) {
  const std::size_t colon = source.find(':');
  if (colon == std::string_view::npos || colon == 0 || !base::is_letter(source.front())) return 0;
  for (const char c : source.substr(1, colon - 1)) {
    if (!base::is_letter_or_digit(c) && c != '+' && c != '-' && c != '.') return 0;
  }
  const std::string_view rest = source.substr(colon);
  return rest.size() > 2 && rest[1] == '/' && rest[2] != '/' ? colon : 0;
}

void append_source(std::string_view source, std::string& text) {
  if (source.starts_with(kPlainPrefix)) {
    const std::string_view url = source.substr(kPlainPrefix.size());
    if (const std::size_t scheme = merged_scheme(url); scheme != 0) {
      const std::string_view name = url.substr(0, scheme);
      text += kPlainPrefix;
      text += name;
      text += name == "local" ? ":///" : "://";
      text += url.substr(scheme + 2);
      return;
    }
  }
  text += source;
}

}  // namespace

std::vector<std::string_view> UrlPath::options() const {
  if (source <= 1) return {};
  // Without the slash at either end.
  const std::size_t end = text.size() == source && text.back() != '/' ? source : source - 1;
  return split(std::string_view(text).substr(1, end - 1), "/");
}

UrlPath repair_path(std::string_view path, std::string_view separator, bool only_presets) {
  if (path.starts_with('/')) path.remove_prefix(1);
  UrlPath repaired;
  repaired.text = "/";
  bool more = true;
  for (bool first = true; more; first = false) {
    const std::size_t end = path.find('/');
    const std::string segment = replace_all(path.substr(0, end), "%3A", ":");
    const bool is_option = only_presets ? first : segment.find(separator) != std::string::npos;
    if (!is_option) break;
    repaired.text += segment;
    more = end != std::string_view::npos;
    if (more) repaired.text += '/';
    path = more ? path.substr(end + 1) : std::string_view{};
  }
  repaired.source = repaired.text.size();
  append_source(path, repaired.text);
  return repaired;
}

Parsed<UrlPath> split_target(std::string_view target, std::string_view prefix,
                             std::string_view separator, bool only_presets) {
  constexpr auto kKind = RequestErrorKind::kInvalidUrl;
  if (target.size() > kMaxTargetBytes) {
    return refuse(kKind, "",
                  fmt::format("found a target of {} bytes; accepted: at most {}", target.size(),
                              kMaxTargetBytes));
  }
  std::string_view path = target.substr(0, target.find('?'));
  if (!path.starts_with(prefix)) {
    return refuse(kKind, "", fmt::format("the path does not begin with {}", prefix));
  }
  path.remove_prefix(prefix.size());
  const std::size_t slash = path.starts_with('/') ? path.find('/', 1) : std::string_view::npos;
  if (slash == std::string_view::npos || slash == 1) {
    return refuse(kKind, "", "accepted: /SIGNATURE/OPTIONS/SOURCE");
  }
  const std::string_view signature = path.substr(1, slash - 1);
  path.remove_prefix(slash + 1);
  if (path.starts_with('/')) path.remove_prefix(1);  // one too many is tolerated
  if (path.empty()) return refuse(kKind, "", "found nothing behind the signature");
  // A slash that belongs to the path was taken off with the one too many.
  UrlPath made = repair_path("/" + std::string(path), separator, only_presets);
  made.signature = signature;
  return made;
}

}  // namespace framewire::service::url
