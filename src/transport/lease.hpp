// The right to write or read one stretch of a peer's memory, once.
#pragma once

#include <chrono>
#include <cstdint>
#include <framewire/status.hpp>
#include <string_view>
#include "base/clock.hpp"

namespace framewire::transport {

/// What the holder of a lease may do.
enum class Direction : std::uint8_t {
  kPut,  ///< write into the owner's memory
  kGet,  ///< read the owner's memory
};

/// As its holder sees it. A value that may be copied: the owner, not the holder, sees to it that it
/// is used once, in its bounds and in time, so that forging one gains nothing.
struct Lease {
  std::uint64_t id = 0;
  std::uint32_t epoch = 0;  ///< of the connection that it was granted on; dies with it
  Direction direction = Direction::kPut;
  std::uint64_t length_bytes = 0;
  bool in_parts = false;           ///< how the owner wants a payload: a matter between links
  base::Clock::time_point expiry;  ///< a hint: the owner's own clock decides
};

/// Why a transfer was refused or ended badly; travels in acknowledgements, so values are stable.
enum class Reason : std::uint8_t {
  kNone = 0,
  kUnknownLease = 1,
  kOldEpoch = 2,
  kUsed = 3,
  kExpired = 4,
  kRevoked = 5,
  kWrongDirection = 6,
  kOutOfBounds = 7,
  kChecksum = 8,
  kCancelled = 9,
};
inline constexpr std::uint8_t kReasonCount = 10;

/// The status that the user of a lease gets: denied, or io_error for damaged bytes.
[[nodiscard]] Status to_status(Reason reason, std::uint64_t lease);

}  // namespace framewire::transport
