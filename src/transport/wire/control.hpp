// The control protocol: frames, and the greeting with which every connection begins.
//
// A frame is a head of 16 bytes, little-endian: "FW", version, type, body bytes (u32), payload
// bytes (u64); then body and payload. Packets (transport/packet.hpp) travel as frames too where the
// stream carries the data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <string>
#include <transport/wire/stream.hpp>
#include <vector>

namespace framewire::transport::wire {

inline constexpr std::uint8_t kProtocolVersion = 3;
inline constexpr std::size_t kFrameHeadBytes = 16;
inline constexpr std::uint32_t kMaxBodyBytes = 16 * 1024;
inline constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{1} << 40;
inline constexpr std::uint32_t kMaxCapacity = 4096;

enum class FrameType : std::uint8_t {
  kHello = 1,    ///< client: a Greeting with every link that it can do
  kWelcome = 2,  ///< server: a Greeting with the one link chosen
  kRefuse = 3,   ///< a status code and a text; then the connection ends
  kPacket = 4,   ///< body: a packet's head; payload: its payload
  kMeet = 5,     ///< server, between the two greetings: a Rendezvous
  kMet = 6,      ///< client, in answer: one byte, 1 where both have met there, else 0
};

struct FrameHead {
  FrameType type = FrameType::kPacket;
  std::uint32_t body_bytes = 0;
  std::uint64_t payload_bytes = 0;
};
void encode(const FrameHead& head, std::span<std::byte, kFrameHeadBytes> out) noexcept;
/// @return invalid_input for what is no frame of ours, or beyond the bounds above; unsupported for
///         another version
[[nodiscard]] Result<FrameHead> decode_frame_head(
    std::span<const std::byte, kFrameHeadBytes> bytes);

/// One way to carry data, and what the other side must know for it (addresses, keys).
struct LinkOffer {
  std::string name;             ///< 1 to 32 bytes
  std::vector<std::byte> blob;  ///< at most 8 KiB
};

/// What each side says of itself. The server's epoch is the connection's.
struct Greeting {
  std::uint32_t epoch = 0;
  std::uint32_t capacity = 0;    ///< 1 to kMaxCapacity
  std::vector<LinkOffer> links;  ///< at most 8, best first
};
[[nodiscard]] std::vector<std::byte> encode(const Greeting& greeting);
/// Any bytes are safe. @return invalid_input
[[nodiscard]] Result<Greeting> decode_greeting(std::span<const std::byte> body);

/// Where two processes of one machine meet, and what each shows there: see session/meeting.hpp.
/// Bits of the server's choosing, new for each connection.
struct Rendezvous {
  std::array<std::byte, 16> place{};
  std::array<std::byte, 16> client_token{};  ///< what the client shows,
  std::array<std::byte, 16> server_token{};  ///< and what it is shown
};
[[nodiscard]] std::vector<std::byte> encode(const Rendezvous& rendezvous);
/// @return invalid_input for another length
[[nodiscard]] Result<Rendezvous> decode_rendezvous(std::span<const std::byte> body);

[[nodiscard]] std::vector<std::byte> encode_met(bool met);
/// @return invalid_input for another length or value
[[nodiscard]] Result<bool> decode_met(std::span<const std::byte> body);

[[nodiscard]] std::vector<std::byte> encode_refusal(const Status& status);
/// The peer's refusal as a status of ours; any bytes are safe, what cannot be read is denied.
[[nodiscard]] Status decode_refusal(std::span<const std::byte> body);

struct Frame {
  FrameType type = FrameType::kPacket;
  std::vector<std::byte> body;
};
/// Reads a frame without payload. @return invalid_input, unsupported, peer_lost, deadline
[[nodiscard]] Result<Frame> read_frame(ByteStream& stream, base::Clock::time_point deadline);
[[nodiscard]] Result<void> write_frame(ByteStream& stream, FrameType type,
                                       std::span<const std::byte> body,
                                       base::Clock::time_point deadline);

}  // namespace framewire::transport::wire
