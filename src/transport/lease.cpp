#include <fmt/format.h>
#include <transport/lease.hpp>

namespace framewire::transport {
namespace {

std::string_view text_of(Reason reason) noexcept {
  switch (reason) {
    case Reason::kNone:
      break;
    case Reason::kUnknownLease:
      return "is none of this channel's, or has ended long ago";
    case Reason::kOldEpoch:
      return "belongs to another connection; its leases ended with it";
    case Reason::kUsed:
      return "has been used; a lease is good for one transfer";
    case Reason::kExpired:
      return "has expired";
    case Reason::kRevoked:
      return "has been revoked";
    case Reason::kWrongDirection:
      return "is for the other direction";
    case Reason::kOutOfBounds:
      return "does not reach that far";
    case Reason::kChecksum:
      return "received bytes that do not match their checksum";
    case Reason::kCancelled:
      return "was given up by its owner";
  }
  return "ended for no stated reason";
}

}  // namespace

Status to_status(Reason reason, std::uint64_t lease) {
  const auto code = reason == Reason::kChecksum ? StatusCode::kIoError : StatusCode::kDenied;
  return {code, fmt::format("lease {:x} {}", lease, text_of(reason))};
}

}  // namespace framewire::transport
