// Two processes of one user hand each other a receive buffer, by file descriptor.
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
  unsigned slots = kReceiveBufferSlots;  ///< of our receive buffer, 1 to 32
  std::uint64_t slot_bytes = 0;
};

/// What each side says of its receive buffer, beside descriptors of the receive buffer and of the
/// words that the sender's copies tell.
struct ReceiveBufferMessage {
  DeviceId device{};
  std::uint32_t slots = 0;  ///< none: there is no receive buffer
  std::uint16_t arrival_words = 0;
  std::uint16_t arrival_layout = 0;
  std::uint64_t slot_bytes = 0;
};
inline constexpr std::size_t kReceiveBufferMessageBytes = 32;
[[nodiscard]] std::array<std::byte, kReceiveBufferMessageBytes> encode(
    const ReceiveBufferMessage& message);
/// @return invalid_input for sizes that are out of bounds
[[nodiscard]] Result<ReceiveBufferMessage> decode_receive_buffer(
    std::span<const std::byte, kReceiveBufferMessageBytes> bytes);

/// Gives the peer our receive buffer and takes its, over the socket at which both have proved that
/// they are processes of one user; the peer does the same. What cannot be had, in receive buffers
/// or time, is left out, and ReceiveBuffers::why says so.
[[nodiscard]] ReceiveBuffers hand_over(const shared::LocalPeer& peer,
                                       const HandoverOptions& options,
                                       base::Clock::time_point deadline);

}  // namespace framewire::transport::peer
