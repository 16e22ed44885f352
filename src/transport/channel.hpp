// The core of a public Channel: leases and transfers above a link.
#pragma once

#include <array>
#include <cstdint>
#include <framewire/transport.hpp>
#include <memory>
#include <optional>
#include <string>
#include <transport/link.hpp>
#include <transport/packet.hpp>
#include <transport/ring.hpp>
#include <transport/transfer_table.hpp>
#include <vector>

namespace framewire::transport::core {

/// Leases of one connection, granted and held, and the transfers under them. Members without a
/// comment are those of transport::Channel.
class Channel final : public LinkSink {
 public:
  Channel(std::unique_ptr<Link> link, ChannelConfig config);
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] Result<Transfer> offer(const Region& region, std::uint64_t offset_bytes,
                                       std::uint64_t length_bytes,
                                       const OfferOptions& options = {});
  [[nodiscard]] Result<void> revoke(Transfer offer);

  [[nodiscard]] std::size_t credits(Direction direction);
  [[nodiscard]] Result<Lease> take_lease(Direction direction);

  [[nodiscard]] Result<Transfer> put(const Lease& lease, const Region& region,
                                     std::uint64_t offset_bytes, std::uint64_t length_bytes,
                                     const TransferOptions& options = {});
  [[nodiscard]] Result<Transfer> get(const Lease& lease, const Region& region,
                                     std::uint64_t offset_bytes, std::uint64_t length_bytes,
                                     const TransferOptions& options = {});

  [[nodiscard]] bool done(Transfer transfer);
  [[nodiscard]] bool moving(Transfer offer);
  [[nodiscard]] Result<Completion> take_result(Transfer transfer);
  [[nodiscard]] std::span<const std::byte> note(Transfer offer);
  [[nodiscard]] Result<Completion> wait(Transfer transfer);

  bool progress();
  void idle(int timeout_ms);
  void idle(int timeout_ms, int wake_fd);
  void close() noexcept;

  [[nodiscard]] const std::optional<Status>& lost() const noexcept { return lost_; }
  [[nodiscard]] std::uint32_t uncertain() const noexcept { return table_.uncertain(); }
  [[nodiscard]] const ChannelStats& stats() const noexcept { return stats_; }
  [[nodiscard]] const ChannelConfig& config() const noexcept { return config_; }
  [[nodiscard]] PathReport path() const { return link_->path(); }

  Placement on_packet(std::span<const std::byte> head, std::uint64_t payload_bytes) override;
  void on_short(const ShortPut& put, std::span<const std::byte> payload) override;
  void on_enqueued(LinkOp op) override;
  void on_received(LinkOp op, bool ok) override;
  void on_sent(LinkOp op, bool ok) override;
  void on_lost(const Status& status) override;

 private:
  // The rare cases of the hot paths, out of line so that those stay short.
  [[nodiscard, gnu::noinline]] Result<Transfer> offer_slowly(const TransferMemory& memory,
                                                             const OfferOptions& options);
  [[nodiscard, gnu::noinline]] Result<Transfer> put_slowly(const Lease& lease,
                                                           const TransferMemory& memory,
                                                           const TransferOptions& options);
  [[nodiscard, gnu::noinline]] Result<Completion> take_result_slowly(Transfer transfer);
  [[nodiscard, gnu::noinline]] Result<Lease> no_lease() const;
  [[gnu::noinline]] void flooded();

  [[nodiscard]] Transfer open(std::uint32_t index, const OfferOptions& options, bool in_parts);
  [[nodiscard]] Result<void> usable(const Region& region,
                                    const std::optional<CudaStream>& stream) const;
  [[nodiscard]] static Result<void> check_options(Role role, const TransferOptions& options);
  /// Whether a transfer is of host memory without a stream: it needs neither usable() nor
  /// use_device().
  [[nodiscard]] bool plain(const Region& region, const std::optional<CudaStream>& stream) const {
    const Region::Block* const block = region.block();
    return !lost_ && !stream && (block == nullptr || block->kind == MemoryKind::kHost);
  }
  [[nodiscard]] Result<void> use_device(TransferSlot& slot,
                                        const std::optional<CudaStream>& stream) const;
  [[nodiscard]] Result<std::uint32_t> begin(Role role, const Lease& lease,
                                            const TransferMemory& memory,
                                            const TransferOptions& options);
  [[nodiscard]] Result<void> send(Packet& packet, const Payload& payload = {});
  [[nodiscard]] std::optional<Transfer> put_short(const Lease& lease, const Region& region,
                                                  std::uint64_t offset_bytes,
                                                  std::uint64_t length_bytes,
                                                  const TransferOptions& options);
  [[nodiscard]] bool add_records(ShortPut& put);
  [[nodiscard]] tl::unexpected<Status> drop(std::uint32_t index, Status status);
  [[nodiscard]] Payload payload_of(std::uint32_t index, std::uint64_t offset_bytes,
                                   std::uint64_t length_bytes);
  [[nodiscard]] Placement destination(std::uint32_t index, std::uint64_t offset_bytes);
  void flush_records();
  void post(const Record& record, bool urgent = true);
  void acknowledge(std::uint64_t request, Reason reason);
  [[nodiscard]] Transfer name(std::uint32_t index) { return {index, table_[index].generation}; }

  // Requests that the peer makes; defined in channel_requests.cpp.
  [[nodiscard]] bool first_seen(std::uint64_t request);
  struct Request {
    std::uint32_t epoch;
    std::uint64_t lease;
    std::uint64_t offset_bytes;
    std::uint64_t length_bytes;
  };
  [[nodiscard]] Reason check_request(const Request& request, Direction direction);
  [[nodiscard]] Placement on_put(const Packet& packet, std::uint64_t payload_bytes);
  void on_get(const Packet& packet);
  void serve(std::uint32_t index, bool in_parts);
  [[nodiscard]] bool serve_waiting();
  [[nodiscard]] Placement on_serve(const Packet& packet, std::uint64_t payload_bytes);
  void on_record(const Record& record);
  void on_grant(const Record& record);
  void on_ack(const Record& record);
  void end_offer(std::uint32_t index, Reason reason, Status error);
  void received_all(std::uint32_t index);
  [[nodiscard]] Status why_given_up() const noexcept;

  [[nodiscard]] base::Clock::time_point now() noexcept;
  void check_deadlines();
  void say_farewell();
  void lose(Status status) noexcept;

  std::unique_ptr<Link> link_;
  ChannelConfig config_;
  TransferTable table_;
  ChannelStats stats_;
  std::optional<Status> lost_;
  Packet incoming_;
  Packet outgoing_;
  bool urgent_ = false;   ///< one of `records_` goes out with the next progress() at the latest
  Ring<Record> records_;  ///< waiting to go out
  std::array<std::uint32_t, 2> open_offers_{};  ///< that the peer has not used yet, by direction
  std::array<Ring<Lease>, 2> leases_;           ///< granted to us, by direction
  /// By direction: no lease of `leases_` expires before.
  std::array<base::Clock::time_point, 2> first_expiry_{base::Clock::time_point::max(),
                                                       base::Clock::time_point::max()};
  std::vector<std::uint64_t> granted_;  ///< newest generation seen, by the peer's slot
  std::uint64_t next_request_ = 1;
  std::vector<std::uint32_t> requests_;  ///< slot + 1 of each request of ours, by number mod size
  std::vector<std::uint64_t> seen_;      ///< newest request of the peer's, by number mod size
  struct Unserved {
    std::uint32_t index;
    bool in_parts;
  };
  std::vector<Unserved> unserved_;  ///< gets that want a checksum of what a stream still writes
  base::Clock::time_point next_deadline_ = base::Clock::time_point::max();
  std::optional<base::Clock::time_point> now_;  ///< read once, within progress() only
  bool in_progress_ = false;
  unsigned rounds_ = 0;       ///< since the last look at the clock
  unsigned idle_rounds_ = 0;  ///< that records have waited
};

}  // namespace framewire::transport::core

namespace framewire::transport {

[[nodiscard]] Channel make_channel(std::unique_ptr<Link> link, ChannelConfig config);

}  // namespace framewire::transport
