// Which requests are sent again, when, and what an answer means to who asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <store/text.hpp>
#include <string_view>

namespace framewire::store {

/// Times of a store; tests shorten them.
struct StoreTiming {
  std::chrono::milliseconds connect{10'000};
  /// A connection that carries less than a kilobyte a second for so long is given up.
  std::chrono::seconds stalled{30};
  /// Everything that a request may take, attempts and waits between them included, and a second for
  /// each megabyte that it moves on top.
  std::chrono::milliseconds total{300'000};
  std::chrono::milliseconds first_wait{100};
  std::chrono::milliseconds max_wait{20'000};
  std::chrono::milliseconds max_retry_after{30'000};  ///< what a server may ask for
};

/// Whether an answer says that the same request may succeed later.
/// @param code  of the server's <Error>, or empty
[[nodiscard]] bool may_retry(unsigned status, std::string_view code) noexcept;
/// Whether the server finds our clock wrong.
[[nodiscard]] bool blames_clock(unsigned status, std::string_view code) noexcept;
/// Whether other credentials, of the same source, may do.
[[nodiscard]] bool blames_expiry(unsigned status, std::string_view code) noexcept;

/// How long to wait before attempt `attempt` + 1: any time up to a bound that doubles each time, so
/// that those who failed together do not come back together.
/// Source: M. Brooker, "Exponential Backoff And Jitter" (full jitter).
/// @param attempt  those that failed, from 1
/// @param chance   0 to 1
[[nodiscard]] std::chrono::milliseconds backoff(unsigned attempt, double chance,
                                                const StoreTiming& timing) noexcept;

/// The value of Retry-After as a time from `now`: seconds, or a date. Bounded by
/// StoreTiming::max_retry_after; nothing for anything else.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_retry_after(
    std::string_view value, SystemTime now, const StoreTiming& timing) noexcept;

/// Who must act on an answer that is an error: as ObjectStore says.
[[nodiscard]] StatusCode code_of_answer(unsigned status, std::string_view code) noexcept;

}  // namespace framewire::store
