// How long an origin's answer may be used without asking again (RFC 9111, 4.2 and 5.2.2).
#pragma once

#include <cstdint>
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

/// Seconds of an Age field; 0 for what cannot be read.
[[nodiscard]] std::int64_t age_seconds(std::string_view age) noexcept;

}  // namespace framewire::service::http
