// Leases, transfers under them, and what is told of both.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <framewire/cuda_stream.hpp>
#include <framewire/export.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace framewire::transport {

/// What the holder of a lease may do.
enum class Direction : std::uint8_t {
  kPut,  ///< write into the owner's memory
  kGet,  ///< read the owner's memory
};

/// The right to write or read one stretch of a peer's memory, once, as its holder sees it. A value
/// that may be copied: the owner, not the holder, sees to it that it is used once, in its bounds
/// and in time, so that forging one gains nothing.
struct Lease {
  std::uint64_t id = 0;
  std::uint32_t epoch = 0;  ///< of the connection that it was granted on; dies with it
  Direction direction = Direction::kPut;
  std::uint64_t length_bytes = 0;
  bool in_parts = false;  ///< how the owner wants a payload: a matter between links
  std::chrono::steady_clock::time_point expiry;  ///< a hint: the owner's own clock decides
};

/// Names one transfer, or offer, of one channel; a value. Each is a name once: an old one names
/// nothing.
struct Transfer {
  std::uint32_t index = 0;
  std::uint64_t generation = 0;
};

/// What a transfer that went well has done.
struct Completion {
  std::uint64_t offset_bytes = 0;  ///< from the start of the lease
  std::uint64_t length_bytes = 0;
  bool verified = false;  ///< the receiver compared checksums
};

struct OfferOptions {
  Direction direction = Direction::kPut;
  std::uint32_t ttl_ms = 30'000;   ///< the peer must begin within
  std::uint32_t work_ms = 30'000;  ///< and finish within, once it has begun
  /// A stream of the device that the region lies on. Nothing is placed or read before the work that
  /// the stream holds now is done. A transfer may be reported as done before its bytes are in
  /// place; work enqueued on the stream after that finds them. Unset: the memory is free now, and
  /// done means in place.
  std::optional<CudaStream> stream;
};

/// Bytes that a put may bring along, see TransferOptions::note.
inline constexpr std::size_t kMaxNoteBytes = 128;

struct TransferOptions {
  std::uint64_t offset_bytes = 0;      ///< in the lease
  std::uint32_t deadline_ms = 30'000;  ///< 1 or more
  bool checksum = false;               ///< XXH3 of the bytes, compared where they arrive
  std::optional<CudaStream> stream;    ///< as OfferOptions::stream; not together with a checksum
  /// Bytes that a put brings along for Channel::note() on the other side, always in host memory.
  /// Copied; at most kMaxNoteBytes.
  std::span<const std::byte> note;
};

/// What both ends of a connection have agreed on.
struct ChannelConfig {
  std::uint32_t epoch = 0;            ///< the same on both ends, another on every connection
  std::uint32_t capacity = 256;       ///< transfers of ours at a time, offers included; ≤ 4096
  std::uint32_t peer_capacity = 256;  ///< the peer's capacity
  std::string peer;                   ///< its authenticated name, for messages
};

/// What a channel has counted; none of it is an error of ours.
struct ChannelStats {
  std::uint64_t refused = 0;     ///< requests of the peer's that were denied
  std::uint64_t duplicates = 0;  ///< packets dropped because they had come before
  std::uint64_t strays = 0;      ///< packets dropped because they name nothing here
};

/// How a device's copy engine gets at the memory of another, best last.
enum class Reach : std::uint8_t {
  kNone,    ///< only through host memory
  kP2p,     ///< over PCIe
  kNvlink,  ///< over NVLink
  kSame,    ///< it is the same device
};

/// "none", "p2p", "nvlink", "same device".
[[nodiscard]] FRAMEWIRE_API std::string_view to_string(Reach reach) noexcept;

/// How bytes travel, for people and for those who require a path.
struct PathReport {
  std::string name;                ///< "loopback", "tcp", "tls", "ucx …"
  std::uint64_t staged_bytes = 0;  ///< copied through host memory that was not the caller's
  Reach direct = Reach::kNone;     ///< how device memory reaches the peer's device, if it does
  std::string why_staged{};        ///< where it does not, if anything is known
  bool gpudirect = false;          ///< a network card reads and writes this end's device memory,
  bool peer_gpudirect = false;     ///< and the peer's, as the peer says
};

/// How device memory must travel.
enum class Requirement : std::uint8_t {
  kNothing,
  kP2p,        ///< by the devices themselves, over PCIe or NVLink
  kNvlink,     ///< over NVLink
  kGpudirect,  ///< by a network card that reads and writes device memory
};

/// "gpudirect", "nvlink", "p2p"; empty for nothing. @return invalid_input for other words
[[nodiscard]] FRAMEWIRE_API Result<Requirement> parse_requirement(std::string_view word);

/// @return unsupported where the path is another one, saying which, why, and what to do
[[nodiscard]] FRAMEWIRE_API Result<void> check_path(const PathReport& path,
                                                    Requirement requirement);

}  // namespace framewire::transport
