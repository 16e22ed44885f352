// Why the use of a lease may be refused.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <framewire/transport/transfer.hpp>
#include <string_view>

namespace framewire::transport {

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
