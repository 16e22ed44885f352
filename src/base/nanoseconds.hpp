// Times since 1970 in nanoseconds, as manifests and caches keep them.
#pragma once

#include <time.h>
#include <cstdint>

namespace framewire::base {

inline constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

/// Servers, archives and file systems tell of years that an int64_t cannot count, which are those
/// before 1677 and after 2262. Such a time becomes the first or last whole second that fits.
/// @param rest_ns  0 to 999'999'999, behind `seconds`
[[nodiscard]] constexpr std::int64_t to_nanoseconds(std::int64_t seconds,
                                                    std::int64_t rest_ns = 0) noexcept {
  constexpr std::int64_t kMaxSeconds = INT64_MAX / kNanosecondsPerSecond;
  if (seconds >= kMaxSeconds) return kMaxSeconds * kNanosecondsPerSecond;
  if (seconds <= -kMaxSeconds) return -kMaxSeconds * kNanosecondsPerSecond;
  return seconds * kNanosecondsPerSecond + rest_ns;
}

[[nodiscard]] inline std::int64_t to_nanoseconds(const timespec& time) noexcept {
  return to_nanoseconds(time.tv_sec, time.tv_nsec);
}

}  // namespace framewire::base
