// How long an origin's answer may be used without asking again (RFC 9111, 4.2 and 5.2.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::service::http {

/// What an origin said. Views live as long as the call.
struct OriginWord {
  std::string_view cache_control{};
  std::string_view expires{};
  std::string_view age{};
  std::string_view vary{};
};

struct Freshness {
  bool storable = true;      ///< a cache that many share may keep it
  std::int64_t fresh_s = 0;  ///< from now on
};

/// As a shared cache reads it: s-maxage, max-age, Expires, in this order. What cannot be read makes
/// it stale at once; nothing is guessed from Last-Modified.
/// @param now_s      since 1970
/// @param unsaid_s   where the origin says nothing of this kind
/// @param max_s  bounds the result
[[nodiscard]] Freshness freshness_of(const OriginWord& word, std::int64_t now_s,
                                     std::int64_t unsaid_s, std::int64_t max_s) noexcept;

/// Seconds for which every cache may use the answer, a browser's included: the smallest of max-age
/// and s-maxage, else Expires. 0 for what is over or cannot be read; nothing where none is said.
/// @param made_s  the moment that ages count from
[[nodiscard]] std::optional<std::int64_t> lifetime_left(const OriginWord& word, std::int64_t made_s,
                                                        std::int64_t now_s) noexcept;

/// Whether Cache-Control says a time itself: max-age or s-maxage.
[[nodiscard]] bool says_lifetime(std::string_view cache_control) noexcept;

/// Cache-Control without its times and what lengthens them, and with another time in their place:
/// "private, max-age=60" as "private, max-age=10".
/// @param cache_control  not empty
[[nodiscard]] std::string with_lifetime(std::string_view cache_control, std::int64_t lifetime_s);

/// Seconds of an Age field; 0 for what cannot be read.
[[nodiscard]] std::int64_t age_seconds(std::string_view age) noexcept;

}  // namespace framewire::service::http
