#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <base/ascii.hpp>
#include <base/utf8.hpp>
#include <charconv>
#include <store/text.hpp>

namespace framewire::store {
namespace {

constexpr bool is_unreserved(char c) noexcept {
  return base::is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// A number of exactly `digits` digits at a place of a date.
std::optional<int> digits_at(std::string_view text, std::size_t place,
                             std::size_t digits) noexcept {
  if (text.size() < place + digits) return std::nullopt;
  const auto value = parse_number(text.substr(place, digits));
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<SystemTime> make_time(std::optional<int> year, std::optional<int> month,
                                    std::optional<int> day,
                                    std::array<std::optional<int>, 3> time) noexcept {
  if (!year || !month || !day || !time[0] || !time[1] || !time[2]) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  // 60: a leap second.
  if (!date.ok() || *time[0] > 23 || *time[1] > 59 || *time[2] > 60) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*time[0]) +
         std::chrono::minutes(*time[1]) + std::chrono::seconds(*time[2]);
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || last != end) return std::nullopt;
  return value;
}

std::string percent_encode(std::string_view text, bool keep_slashes) {
  std::string made;
  made.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c) || (keep_slashes && c == '/')) {
      made += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      made += {'%', base::to_upper(base::kHexDigits[byte >> 4]),
               base::to_upper(base::kHexDigits[byte & 15])};
    }
  }
  return made;
}

std::optional<std::string> decode_form_text(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      made += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? base::hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? base::hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    made += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return made;
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string made;
  made.reserve(std::min(text.size(), max_bytes));
  while (!text.empty() && made.size() < max_bytes) {
    const base::Utf8Character character = base::first_character(text);
    const std::size_t step = std::max<std::size_t>(character.bytes, 1);
    if (character.bytes == 0) {
      made += '?';
    } else if (character.code == '\n' || character.code == '\t') {
      made += ' ';
    } else if (!base::is_unprintable(character.code)) {
      made += text.substr(0, step);
    }
    text.remove_prefix(step);
  }
  return made;
}

std::optional<SystemTime> parse_iso_time(std::string_view text) noexcept {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || text.back() != 'Z') {
    return std::nullopt;
  }
  const std::string_view fraction = text.substr(19, text.size() - 20);
  if (!fraction.empty() && (fraction.front() != '.' || !parse_number(fraction.substr(1)))) {
    return std::nullopt;
  }
  return make_time(digits_at(text, 0, 4), digits_at(text, 5, 2), digits_at(text, 8, 2),
                   {digits_at(text, 11, 2), digits_at(text, 14, 2), digits_at(text, 17, 2)});
}

std::optional<SystemTime> parse_http_date(std::string_view text) noexcept {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != 29 || text.substr(3, 2) != ", " || !text.ends_with(" GMT") ||
      text[19] != ':' || text[22] != ':') {
    return std::nullopt;
  }
  const std::size_t month = kMonths.find(text.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  return make_time(digits_at(text, 12, 4), static_cast<int>(month / 3) + 1, digits_at(text, 5, 2),
                   {digits_at(text, 17, 2), digits_at(text, 20, 2), digits_at(text, 23, 2)});
}

std::string basic_iso_time(SystemTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace framewire::store
