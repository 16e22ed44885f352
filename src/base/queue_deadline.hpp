// Deadlines that ran out while a request waited for its turn.
#pragma once

#include <algorithm>
#include <base/clock.hpp>
#include <chrono>
#include <cstdint>
#include <framewire/status.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace framewire::base {

/// The subject of a `deadline` that is the queue's fault, and not the picture's. It goes through
/// processes and hosts with the error.
inline constexpr std::string_view kQueueSubject = "queue";

/// A `deadline` that ran out before anybody worked on the request, or had half of its time left
/// for that.
[[nodiscard]] inline Status late_in_queue(std::string message) {
  return Status(StatusCode::kDeadline, std::move(message)).about(std::string(kQueueSubject));
}

[[nodiscard]] inline bool is_late_in_queue(const Status& error) noexcept {
  return error.code() == StatusCode::kDeadline && error.subject() == kQueueSubject;
}

/// Time in one queue more. @return in milliseconds, as EngineRequest::waited_ms
[[nodiscard]] inline std::uint32_t add_waited(std::uint32_t before_ms,
                                              Clock::duration waited) noexcept {
  const auto all_ms =
      before_ms + std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(all_ms, 0, UINT32_MAX));
}

/// Whether a deadline does not say yet whose fault it is.
[[nodiscard]] inline bool is_plain_deadline(const Status& error) noexcept {
  return error.code() == StatusCode::kDeadline && error.subject().empty();
}

}  // namespace framewire::base
