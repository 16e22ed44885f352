// Several small packets in one message of a link: what a message costs is paid once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <transport/packet.hpp>

namespace framewire::transport {

/// First byte of a message's head that holds packets; a packet's own first byte is another.
inline constexpr std::byte kBatchKind{0xff};

/// Packets gathered for one message. Their heads, each behind its sizes, travel as the message's
/// head, so that one code proves them all; their payloads follow one another in its payload.
class Batch {
 public:
  /// Larger payloads gain less by company than a second copy costs.
  static constexpr std::size_t kMaxPayload = 2048;
  static constexpr std::size_t kProofBytes = sizeof(std::uint64_t);

  Batch() { heads_[0] = kBatchKind; }
  [[nodiscard]] bool empty() const noexcept { return head_bytes_ == 1; }
  /// Copies a packet. @return false where there is no room, or it would never fit
  [[nodiscard]] bool add(std::span<const std::byte> head, const std::byte* payload,
                         std::uint64_t payload_bytes) noexcept;
  void clear() noexcept {
    head_bytes_ = 1;
    payload_bytes_ = 0;
  }
  /// All heads; room for the proof follows.
  [[nodiscard]] std::span<std::byte> heads() noexcept {
    return std::span(heads_).first(head_bytes_);
  }
  [[nodiscard]] std::span<const std::byte> payloads() const noexcept {
    return std::span(payloads_).first(payload_bytes_);
  }

 private:
  // Together with UCX's own head less than a segment of any lane, 8 KiB and more.
  static constexpr std::size_t kHeadRoom = 2048;
  std::size_t head_bytes_ = 1;
  std::size_t payload_bytes_ = 0;
  std::array<std::byte, kHeadRoom + kProofBytes> heads_;
  std::array<std::byte, 5888> payloads_;
};

/// Takes the packets of such a message out again; any bytes are safe.
class BatchReader {
 public:
  BatchReader(std::span<const std::byte> heads, std::span<const std::byte> payloads)
      : heads_(heads.subspan(1)), payloads_(payloads) {}
  struct Item {
    std::span<const std::byte> head;
    std::span<const std::byte> payload;
  };
  /// @return nothing after the last packet, or where sizes lie
  [[nodiscard]] std::optional<Item> next() noexcept;
  /// Whether all bytes have been taken.
  [[nodiscard]] bool whole() const noexcept { return heads_.empty() && payloads_.empty(); }

 private:
  std::span<const std::byte> heads_;
  std::span<const std::byte> payloads_;
};

}  // namespace framewire::transport
