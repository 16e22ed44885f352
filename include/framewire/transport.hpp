// Bytes from process to process, into memory that the receiver has chosen. See docs/transport.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/export.hpp>
#include <framewire/status.hpp>
#include <framewire/transport/region.hpp>
#include <framewire/transport/transfer.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace framewire::transport {

/// Who may connect. Exactly one of: a key file; certificate, key and authority; `insecure`.
struct Security {
  bool insecure = false;    ///< no TLS: anyone who reaches the port is served
  std::string psk_file;     ///< lines "NAME HEX", 16 to 64 bytes of key; for its owner only
  std::string psk_name;     ///< which line is ours when we connect; empty: the first
  std::string certificate;  ///< PEM files: ours, with its chain,
  std::string key;          ///< its private key, for its owner only,
  std::string authority;    ///< and who vouches for peers
  std::vector<std::string> allowed;  ///< names of peers; empty: all; not with insecure
};

/// Names of links, as in SessionOptions and in reports.
inline constexpr const char* kStreamLink = "stream";     ///< the control connection itself
inline constexpr const char* kSharedLink = "shared";     ///< processes of one user, one machine
inline constexpr const char* kUcxTcpLink = "ucx-tcp";    ///< needs Security::insecure
inline constexpr const char* kUcxRdmaLink = "ucx-rdma";  ///< only where both ends name it

/// Within one machine, device memory without a stop in host memory: both sides need
/// SessionOptions::devices. Packets travel as over shared, or over the control connection.
inline constexpr const char* kPeerLink = "peer";
inline constexpr const char* kPeerStreamLink = "peer-stream";

/// The CUDA devices that this process sees, for regions and SessionOptions. Thread-safe; what it
/// points to is never destroyed. @return unsupported where there is none, or no CUDA in this build
[[nodiscard]] FRAMEWIRE_API Result<DeviceMemory*> cuda_devices();

struct SessionOptions {
  Security security;
  std::uint32_t capacity = 256;  ///< transfers of ours at a time, 1 to 4096
  /// Links that may be used, best first; the server's order counts. Empty: where both ends are
  /// processes of one user on one machine, peer if both have devices, else shared; else stream.
  /// Both ends prove to each other that they are such processes (docs/decisions/0020).
  std::vector<std::string> links;
  /// cuda_devices(), where device memory shall travel without a stop in host memory, and the
  /// ordinal of the device on which this end's regions lie. Regions of other devices are staged;
  /// without `devices` all are.
  DeviceMemory* devices = nullptr;
  int device = 0;
  /// Device memory that every connection over peer and peer-stream keeps at this end, for what the
  /// peer pushes, however little it is used: 8 parts, 4 KiB each or more.
  std::uint64_t receive_buffer_bytes = std::uint64_t{128} << 20;
  Requirement require = Requirement::kNothing;  ///< or there is no connection: unsupported
  /// ucx-tcp: a network device ("eth0"); ucx-rdma: an RDMA device and its port ("mlx5_0:1").
  std::string ucx_device;
  std::uint32_t timeout_ms = 10'000;  ///< for everything from connecting to the last greeting
};

namespace core {
class Channel;
}

/// A connection to one authenticated peer, over which memory is leased and filled.
///
/// The owner of memory offers parts of it; each offer reaches the peer as a Lease, which is its
/// credit for one transfer. The owner checks every request against its own table (epoch, lease,
/// direction, bounds, expiry, first use) before a byte moves, and itself places what arrives; a
/// peer never names an address. Every transfer ends in a result by its deadline. Nothing happens
/// between calls: progress() or wait() must be called. One thread at a time.
class FRAMEWIRE_API Channel {
 public:
  /// For this library itself: connect(), Listener and connect_loopback() make channels.
  explicit Channel(std::unique_ptr<core::Channel> core);
  /// As close(), then waits (at most 0.2 s) until the link has let go of all memory.
  ~Channel();
  Channel(Channel&&) noexcept;
  Channel& operator=(Channel&&) noexcept;

  /// Lets the peer write into, or read, part of a region once. The transfer is done when that has
  /// happened, or the lease has ended without; until then the part is in use.
  /// @return invalid_input outside the region, or no time to live; unsupported for memory that the
  ///         link does not take; busy where capacity or the memory is in use; peer_lost
  [[nodiscard]] Result<Transfer> offer(const Region& region, std::uint64_t offset_bytes,
                                       std::uint64_t length_bytes,
                                       const OfferOptions& options = {});
  /// Ends an offer. From the return on no new access begins; take_result() says denied.
  /// @return busy where the peer's access is under way: it ends by itself within its allowance, or,
  ///         by force, with close(); invalid_input where the transfer is no offer of this channel
  [[nodiscard]] Result<void> revoke(Transfer offer);

  /// How many leases the peer has granted us that are not taken: our credits.
  [[nodiscard]] std::size_t credits(Direction direction);
  /// Takes the oldest of them. @return busy where there is none now; peer_lost
  [[nodiscard]] Result<Lease> take_lease(Direction direction);

  /// Writes part of a region into the peer's memory. Done when the peer has confirmed that the
  /// bytes are in place. Until then they are in use, or, where a link copies them, during the call.
  /// @return as offer(); besides invalid_input without a deadline or with too long a note,
  ///         unsupported for a stream where the link has no order with it. What the peer refuses is
  ///         the transfer's result: denied, io_error (checksum)
  [[nodiscard]] Result<Transfer> put(const Lease& lease, const Region& region,
                                     std::uint64_t offset_bytes, std::uint64_t length_bytes,
                                     const TransferOptions& options = {});
  /// Reads from the peer's memory into part of a region. As put().
  [[nodiscard]] Result<Transfer> get(const Lease& lease, const Region& region,
                                     std::uint64_t offset_bytes, std::uint64_t length_bytes,
                                     const TransferOptions& options = {});

  [[nodiscard]] bool done(Transfer transfer);
  /// Whether an offer of ours is being used: the peer's access is under way, and has not ended.
  [[nodiscard]] bool moving(Transfer offer);
  /// The result of a transfer that is done; once.
  /// @return the transfer's error (deadline, peer_lost, denied, io_error); invalid_input before it
  ///         is done, and where it is none of this channel's or was fetched before
  [[nodiscard]] Result<Completion> take_result(Transfer transfer);
  /// What a put brought along to an offer of ours that is done, whatever its result; empty if
  /// nothing. Valid until the offer's take_result().
  [[nodiscard]] std::span<const std::byte> note(Transfer offer);
  /// progress() until done, then take_result().
  [[nodiscard]] Result<Completion> wait(Transfer transfer);

  /// Moves everything that can be moved without blocking. Confirmations and leases ride on packets
  /// that go out anyway, or go alone with one of the next two calls. @return whether anything moved
  bool progress();
  /// Sleeps until something may have come, at most that long.
  void idle(int timeout_ms);
  /// As idle(), and not longer than until a descriptor can be read: an eventfd, say, by which other
  /// threads wake the one that has the channel. Links without a socket look at it every
  /// millisecond.
  void idle(int timeout_ms, int wake_fd);
  /// Sends what waits and says farewell to the peer, then ends the connection by force. Whatever is
  /// not done ends in peer_lost.
  void close();

  /// Why the channel is of no more use, if it is not.
  [[nodiscard]] const std::optional<Status>& lost() const noexcept;
  /// Transfers that have ended while their memory may still be touched; it stays in use.
  [[nodiscard]] std::uint32_t uncertain() const noexcept;
  [[nodiscard]] const ChannelStats& stats() const noexcept;
  [[nodiscard]] const ChannelConfig& config() const noexcept;
  /// Which way the bytes go, and how many were copied on it.
  [[nodiscard]] PathReport path() const;

 private:
  std::unique_ptr<core::Channel> core_;
};

/// Connects to a Listener.
/// @param address  "HOST:PORT"; no host means 127.0.0.1
/// @return invalid_input for options or address; denied where either side does not accept the
///         other; unsupported where no link is common to both; peer_lost; deadline
[[nodiscard]] FRAMEWIRE_API Result<Channel> connect(const std::string& address,
                                                    const SessionOptions& options);

/// Both ends of a channel inside this process, each for a thread of its own; whoever receives
/// copies. Destroying or closing one end is the peer's death for the other.
/// @param capacity  transfers of each end at a time, 1 to 4096. @return invalid_input; busy
[[nodiscard]] FRAMEWIRE_API Result<std::pair<Channel, Channel>> connect_loopback(
    std::uint32_t capacity = 256);

/// Owns a listening port. One thread at a time.
class FRAMEWIRE_API Listener {
 public:
  /// @param address  as for connect(); port 0 takes a free one
  /// @return invalid_input; denied for a key file that others can read; io_error where the
  ///         port or a file cannot be had
  [[nodiscard]] static Result<Listener> listen(const std::string& address,
                                               const SessionOptions& options);
  ~Listener();
  Listener(Listener&&) noexcept;
  Listener& operator=(Listener&&) noexcept;

  [[nodiscard]] std::uint16_t port() const;
  /// The next connection that has been authenticated and greeted, which a thread of the listener's
  /// own does from listen() on with everybody at once; 4 wait here to be accepted.
  /// @return deadline where nobody came within wait_ms; what a bad or slow peer caused, at most 8
  ///         times at once and then once a second, after which accept() may be called again
  [[nodiscard]] Result<Channel> accept(std::uint32_t wait_ms);

 private:
  class FRAMEWIRE_LOCAL Impl;
  explicit Listener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire::transport
