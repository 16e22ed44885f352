// A connection to one authenticated peer, over which memory is leased and filled.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "transport/link.hpp"
#include "transport/packet.hpp"
#include "transport/transfer_table.hpp"

namespace framewire::transport {

/// What both ends of a connection have agreed on.
struct ChannelConfig {
  std::uint32_t epoch = 0;            ///< the same on both ends, another on every connection
  std::uint32_t capacity = 256;       ///< transfers of ours at a time, offers included; ≤ 4096
  std::uint32_t peer_capacity = 256;  ///< the peer's capacity
  std::string peer;                   ///< its authenticated name, for messages
};

struct OfferOptions {
  Direction direction = Direction::kPut;
  std::uint32_t ttl_ms = 30'000;   ///< the peer must begin within
  std::uint32_t work_ms = 30'000;  ///< and finish within, once it has begun
  /// Of the device that the region lies on. Nothing is placed or read before the work is done that
  /// the stream holds now; what is enqueued on it after the transfer is done finds the bytes, which
  /// may be reported before they are in place. Unset: the memory is free, and done means in place.
  std::optional<CudaStream> stream;
};

struct TransferOptions {
  std::uint64_t offset_bytes = 0;      ///< in the lease
  std::uint32_t deadline_ms = 30'000;  ///< 1 or more
  bool checksum = false;               ///< XXH3 of the bytes, compared where they arrive
  std::optional<CudaStream> stream;    ///< as OfferOptions::stream; not together with a checksum
};

/// What a channel has counted; none of it is an error of ours.
struct ChannelStats {
  std::uint64_t refused = 0;     ///< requests of the peer's that were denied
  std::uint64_t duplicates = 0;  ///< packets dropped because they had come before
  std::uint64_t strays = 0;      ///< packets dropped because they name nothing here
};

/// Leases of one connection, granted and held, and the transfers under them.
///
/// The owner of memory offers parts of it; each offer reaches the peer as a Lease, which is its
/// credit for one transfer. The owner checks every request against its own table (epoch, lease,
/// direction, bounds, expiry, first use) before a byte moves, and itself places what arrives; a
/// peer never names an address. Every transfer ends in a result by its deadline. Nothing happens
/// between calls: progress() or wait() must be called. One thread at a time.
class Channel final : public LinkSink {
 public:
  Channel(std::unique_ptr<Link> link, ChannelConfig config);
  /// As close(), then waits (briefly) until the link has let go of all memory.
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Lets the peer write into, or read, part of a region once. The transfer is done when that has
  /// happened, or the lease has ended without.
  /// @return invalid_input outside the region, or no time to live; unsupported for memory that the
  ///         link does not take; busy where capacity or the memory is in use; peer_lost
  [[nodiscard]] Result<Transfer> offer(const Region& region, std::uint64_t offset_bytes,
                                       std::uint64_t length_bytes,
                                       const OfferOptions& options = {});
  /// Ends an offer. From the return on no new access begins; finish() says denied.
  /// @return busy where the peer's access is under way: it ends by itself within its allowance, or,
  ///         by force, with close(); invalid_input where the transfer is no offer of this channel
  [[nodiscard]] Result<void> revoke(Transfer offer);

  /// How many leases the peer has granted us that are not taken: our credits.
  [[nodiscard]] std::size_t credits(Direction direction);
  /// Takes the oldest of them. @return busy where there is none now; peer_lost
  [[nodiscard]] Result<Lease> take_lease(Direction direction);

  /// Writes part of a region into the peer's memory. Done when the peer has confirmed it.
  /// @return as offer(); besides invalid_input without a deadline. What the peer refuses is the
  ///         transfer's result: denied, io_error (checksum)
  [[nodiscard]] Result<Transfer> put(const Lease& lease, const Region& region,
                                     std::uint64_t offset_bytes, std::uint64_t length_bytes,
                                     const TransferOptions& options = {});
  /// Reads from the peer's memory into part of a region. As put().
  [[nodiscard]] Result<Transfer> get(const Lease& lease, const Region& region,
                                     std::uint64_t offset_bytes, std::uint64_t length_bytes,
                                     const TransferOptions& options = {});

  [[nodiscard]] bool done(Transfer transfer);
  /// The result of a transfer that is done; once. @return the transfer's error; busy before it is
  /// done; invalid_input where it is none of this channel's or was fetched before
  [[nodiscard]] Result<Completion> finish(Transfer transfer);
  /// progress() until done, then finish().
  [[nodiscard]] Result<Completion> wait(Transfer transfer);

  /// Moves everything that can be moved without blocking. @return whether anything did
  bool progress();
  /// Sleeps until something may have come, at most that long.
  void idle(int timeout_ms);
  /// Sends what waits and says farewell to the peer, then ends the connection by force. Whatever is
  /// not done ends in peer_lost.
  void close();

  /// Why the channel is of no more use, if it is not.
  [[nodiscard]] const std::optional<Status>& lost() const noexcept { return lost_; }
  /// Transfers that have ended while their memory may still be touched; it stays pinned.
  [[nodiscard]] std::uint32_t uncertain() const noexcept { return table_.uncertain(); }
  [[nodiscard]] const ChannelStats& stats() const noexcept { return stats_; }
  [[nodiscard]] const ChannelConfig& config() const noexcept { return config_; }
  [[nodiscard]] PathReport path() const { return link_->path(); }

  Placement on_packet(std::span<const std::byte> head, std::uint64_t payload_bytes) override;
  void on_enqueued(LinkOp op) override;
  void on_received(LinkOp op, bool ok) override;
  void on_sent(LinkOp op, bool ok) override;
  void on_lost(const Status& status) override;

 private:
  [[nodiscard]] Result<void> usable(const Region& region,
                                    const std::optional<CudaStream>& stream) const;
  [[nodiscard]] Result<void> use_device(TransferSlot& slot,
                                        const std::optional<CudaStream>& stream) const;
  [[nodiscard]] Result<std::uint32_t> begin(Role role, const Lease& lease,
                                            const TransferMemory& memory,
                                            const TransferOptions& options);
  [[nodiscard]] Result<void> send(Packet& packet, const Payload& payload = {});
  [[nodiscard]] tl::unexpected<Status> drop(std::uint32_t index, Status status);
  [[nodiscard]] Payload payload_of(std::uint32_t index, std::uint64_t offset_bytes,
                                   std::uint64_t length_bytes);
  [[nodiscard]] Placement destination(std::uint32_t index, std::uint64_t offset_bytes);
  void flush_records();
  void post(const Record& record);
  void acknowledge(std::uint64_t request, Reason reason);
  [[nodiscard]] Transfer name(std::uint32_t index) { return {index, table_[index].generation}; }

  // Requests of the peer's, in channel_requests.cpp.
  [[nodiscard]] bool first_seen(std::uint64_t request);
  [[nodiscard]] Reason check_request(const Packet& packet, Direction direction);
  [[nodiscard]] Placement on_put(const Packet& packet, std::uint64_t payload_bytes);
  void on_get(const Packet& packet);
  [[nodiscard]] Placement on_serve(const Packet& packet, std::uint64_t payload_bytes);
  void on_record(const Record& record);
  void on_grant(const Record& record);
  void on_ack(const Record& record);
  void end_offer(std::uint32_t index, Reason reason, std::optional<Status> error);
  void received_all(std::uint32_t index);

  void check_deadlines();
  void lose(Status status);

  std::unique_ptr<Link> link_;
  ChannelConfig config_;
  TransferTable table_;
  ChannelStats stats_;
  std::optional<Status> lost_;
  Packet incoming_;
  Packet outgoing_;
  std::deque<Record> records_;               ///< waiting to go out
  std::array<std::deque<Lease>, 2> leases_;  ///< granted to us, by direction
  std::vector<std::uint64_t> granted_;       ///< newest generation seen, by the peer's slot
  std::uint64_t next_request_ = 1;
  std::vector<std::uint32_t> requests_;  ///< ours, slot + 1 by number modulo size
  std::vector<std::uint64_t> seen_;      ///< the peer's, newest by number modulo size
  base::Clock::time_point next_deadline_ = base::Clock::time_point::max();
  unsigned rounds_ = 0;
};

}  // namespace framewire::transport
