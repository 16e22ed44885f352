#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <charconv>
#include <iterator>
#include <optional>
#include <service/http/freshness.hpp>
#include <service/http/head.hpp>
#include <service/http/response.hpp>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

/// What Cache-Control has for a cache that many share.
struct Directives {
  bool forbidden = false;   ///< no-store, or private, with or without names of fields
  bool revalidate = false;  ///< no-cache
  bool has_age = false;     ///< max-age or s-maxage
  std::int64_t max_age_s = 0;
  std::int64_t least_age_s = 0;  ///< of both
};

// Digits alone; more of them than a number holds are for ever.
std::optional<std::int64_t> read_seconds(Text text) noexcept {
  constexpr std::int64_t kForever = std::int64_t{1} << 40;
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  if (text.empty() || text.find_first_not_of("0123456789") != Text::npos) return std::nullopt;
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() ? std::min(value, kForever) : kForever;
}

// Commas within quotes are cut at as well: what follows there is at worst a directive more.
Directives read_directives(Text list) noexcept {
  Directives found;
  bool shared_age = false;
  while (!list.empty()) {
    const auto comma = list.find(',');
    const Text one = base::trim_blanks(list.substr(0, comma));
    const auto equals = one.find('=');
    const Text name = base::trim_blanks(one.substr(0, equals));
    const Text value = equals == Text::npos ? Text() : base::trim_blanks(one.substr(equals + 1));
    const auto is = [&](Text word) { return base::equals_ignoring_case(name, word); };
    found.forbidden = found.forbidden || is("no-store") || is("private");
    found.revalidate = found.revalidate || is("no-cache");
    const bool for_all = is("max-age");
    const bool for_shared = is("s-maxage");
    if (for_shared || (for_all && !shared_age)) {
      const std::int64_t age_s = read_seconds(value).value_or(0);
      found.least_age_s = found.has_age ? std::min(found.least_age_s, age_s) : age_s;
      // Where there are two, the smaller counts.
      const bool again = found.has_age && for_shared == shared_age;
      found.max_age_s = again ? std::min(found.max_age_s, age_s) : age_s;
      found.has_age = true;
      shared_age = for_shared;
    }
    list = comma == Text::npos ? Text() : list.substr(comma + 1);
  }
  return found;
}

// The first directive of a list, whose quoted texts may have commas in them.
// @return its length
std::size_t directive_length(Text list) noexcept {
  bool quoted = false;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (quoted && list[at] == '\\') {
      ++at;
    } else if (list[at] == '"') {
      quoted = !quoted;
    } else if (list[at] == ',' && !quoted) {
      return at;
    }
  }
  return list.size();
}

// Whether a directive says how long something holds.
bool is_about_time(Text directive) noexcept {
  constexpr Text kNames[] = {"max-age", "s-maxage", "stale-while-revalidate", "stale-if-error",
                             "immutable"};
  const Text name = base::trim_blanks(directive.substr(0, directive.find('=')));
  return std::ranges::any_of(kNames,
                             [&](Text known) { return base::equals_ignoring_case(name, known); });
}

}  // namespace

Freshness freshness_of(const OriginWord& word, std::int64_t now_s, std::int64_t unsaid_s,
                       std::int64_t max_s) noexcept {
  const Directives directives = read_directives(word.cache_control);
  Freshness result;
  result.storable = !directives.forbidden;
  if (directives.forbidden || directives.revalidate) return result;
  // Requests for originals are all alike, so that no field decides between answers but "*".
  if (word.vary.find('*') != Text::npos) return result;
  std::int64_t lifetime_s = unsaid_s;
  if (directives.has_age) {
    lifetime_s = directives.max_age_s;
  } else if (!word.expires.empty()) {
    const std::int64_t until_s = parse_http_date(word.expires);
    lifetime_s = until_s > now_s ? until_s - now_s : 0;
  }
  // Expires is a moment, from which no age is taken away.
  if (directives.has_age && !word.age.empty()) {
    const auto age_s = read_seconds(word.age);
    lifetime_s = age_s ? lifetime_s - std::min(*age_s, lifetime_s) : 0;
  }
  result.fresh_s = std::clamp<std::int64_t>(lifetime_s, 0, max_s);
  return result;
}

std::optional<std::int64_t> lifetime_left(const OriginWord& word, std::int64_t made_s,
                                          std::int64_t now_s) noexcept {
  const Directives directives = read_directives(word.cache_control);
  std::int64_t until_s = 0;
  if (directives.has_age) {
    until_s = made_s + directives.least_age_s;
  } else if (!word.expires.empty()) {
    until_s = parse_http_date(word.expires);
  } else {
    return std::nullopt;
  }
  return until_s > now_s ? until_s - now_s : 0;
}

bool says_lifetime(Text cache_control) noexcept { return read_directives(cache_control).has_age; }

std::string with_lifetime(Text cache_control, std::int64_t lifetime_s) {
  std::string made;
  while (!cache_control.empty()) {
    const std::size_t length = directive_length(cache_control);
    const Text one = base::trim_blanks(cache_control.substr(0, length));
    if (!one.empty() && !is_about_time(one)) fmt::format_to(std::back_inserter(made), "{}, ", one);
    cache_control.remove_prefix(std::min(length + 1, cache_control.size()));
  }
  return made + fmt::format("max-age={}", lifetime_s);
}

std::int64_t age_seconds(Text age) noexcept { return read_seconds(age).value_or(0); }

}  // namespace framewire::service::http
