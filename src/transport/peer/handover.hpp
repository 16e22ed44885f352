// Two processes of one user hand each other a landing, by file descriptor.
#pragma once

#include <array>
#include <base/clock.hpp>
#include <cstddef>
#include <framewire/status.hpp>
#include <span>
#include <transport/peer/device_link.hpp>
#include <transport/peer/parts.hpp>
#include <transport/shared/local_peer.hpp>
#include <vector>

namespace framewire::transport::peer {

/// What one side brings.
struct HandoverOptions {
  DeviceMemory* devices = nullptr;
  int device = -1;
  unsigned slots = kLandingSlots;  ///< of our landing, 1 to 32
  std::uint64_t slot_bytes = 0;
};

/// What each side says of its landing, beside descriptors of the landing and of the words that the
/// sender's copies tell.
struct LandingMessage {
  DeviceId device{};
  std::uint32_t slots = 0;  ///< none: there is no landing
  std::uint16_t arrival_words = 0;
  std::uint16_t arrival_layout = 0;
  std::uint64_t slot_bytes = 0;
};
inline constexpr std::size_t kLandingMessageBytes = 32;
[[nodiscard]] std::array<std::byte, kLandingMessageBytes> encode(const LandingMessage& message);
/// @return invalid_input for sizes that are out of bounds
[[nodiscard]] Result<LandingMessage> decode_landing(
    std::span<const std::byte, kLandingMessageBytes> bytes);

/// Gives the peer our landing and takes its, over the socket at which both have proved that they
/// are processes of one user; the peer does the same. What cannot be had, in landings or time, is
/// left out, and Landings::why says so.
[[nodiscard]] Landings hand_over(const shared::LocalPeer& peer, const HandoverOptions& options,
                                 base::Clock::time_point deadline);

}  // namespace framewire::transport::peer
