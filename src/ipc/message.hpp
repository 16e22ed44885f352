// What a server and a client on another host say to each other. Each message is memory that its
// sender offers for reading over a channel of the transport, and that the other end fetches when it
// has room: a head, a text, a body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <ipc/layout.hpp>
#include <memory>
#include <span>

namespace framewire::ipc {

inline constexpr std::size_t kMessageHeadBytes = 64;
/// Longest text: a request's options, or the report or error of an answer.
inline constexpr std::size_t kMaxMessageTextBytes = kReportBytes;
/// What a client may ask of a server on another host, at most.
inline constexpr std::uint32_t kMaxRemoteSlots = 512;

enum class MessageType : std::uint8_t {
  kHello = 1,     ///< client, once, first: what it asks for
  kRequest = 2,   ///< client: text is the options, body the JPEG
  kCancel = 3,    ///< client: the answer to a request is not wanted any more
  kWelcome = 4,   ///< server, once, first: what it gives
  kResized = 5,   ///< server: text is the report, body the stream
  kFailed = 6,    ///< server: text is the error
  kDraining = 7,  ///< server: it takes no new requests
  kEnd = 8,       ///< server, instead of a welcome or as its last word: text is the error
};

/// What a type does not mean is zero.
struct MessageHead {
  MessageType type = MessageType::kHello;
  std::uint32_t slot = 0;          ///< request, cancel, answers
  std::uint64_t number = 0;        ///< of the request, from 1: no two of a client have the same
  std::uint32_t slots = 0;         ///< hello: wanted; welcome: given
  std::uint32_t text_bytes = 0;    ///< request, answers, end
  std::uint64_t body_bytes = 0;    ///< request, kResized
  std::uint64_t input_bytes = 0;   ///< welcome: of one request's JPEG, at most
  std::uint64_t output_bytes = 0;  ///< hello: of one answer's stream, at most
};

/// Where the body begins: heads and bodies lie at multiples of 64 bytes.
[[nodiscard]] constexpr std::size_t body_offset(std::size_t text_bytes) noexcept {
  return kMessageHeadBytes + (text_bytes + 63) / 64 * 64;
}
/// Bytes of a whole message.
[[nodiscard]] constexpr std::uint64_t message_bytes(std::size_t text_bytes,
                                                    std::uint64_t body_bytes) noexcept {
  return body_offset(text_bytes) + body_bytes;
}

/// Writes a head, little-endian.
void encode(const MessageHead& head, std::span<std::byte, kMessageHeadBytes> out) noexcept;

/// A whole message; text and body point into the bytes that it was read from.
struct Message {
  MessageHead head;
  std::span<const std::byte> text;
  std::span<const std::uint8_t> body;
};
/// @param bytes  of another host's, but ours: they do not change any more
/// @return invalid_input for what is no message, or not exactly one; unsupported for another
///         version
[[nodiscard]] Result<Message> read_message(std::span<const std::byte> bytes);
/// The same of bytes that others may write to. @param front  a copy of their beginning, which alone
/// is read: the text has to lie there
[[nodiscard]] Result<Message> read_message(std::span<const std::byte> front,
                                           std::span<const std::byte> bytes);

/// Memory of a message on its way out.
struct OutgoingMessage {
  std::unique_ptr<std::byte[]> memory;
  std::size_t bytes = 0;

  [[nodiscard]] std::span<std::byte> all() const noexcept { return {memory.get(), bytes}; }
};
/// Copies text and body behind a head, whose lengths are set. Throws std::bad_alloc.
[[nodiscard]] OutgoingMessage make_message(MessageHead head, std::span<const std::byte> text,
                                           std::span<const std::uint8_t> body);

}  // namespace framewire::ipc
