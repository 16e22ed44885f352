// transport::Channel, which hands everything to what it is made of.
#include <transport/channel.hpp>
#include <utility>

namespace framewire::transport {

Channel::Channel(std::unique_ptr<core::Channel> core) : core_(std::move(core)) {}
Channel::~Channel() = default;
Channel::Channel(Channel&&) noexcept = default;
Channel& Channel::operator=(Channel&&) noexcept = default;

Channel make_channel(std::unique_ptr<Link> link, ChannelConfig config) {
  return Channel(std::make_unique<core::Channel>(std::move(link), std::move(config)));
}

Result<Transfer> Channel::offer(const Region& region, std::uint64_t offset_bytes,
                                std::uint64_t length_bytes, const OfferOptions& options) {
  return core_->offer(region, offset_bytes, length_bytes, options);
}

Result<void> Channel::revoke(Transfer offer) { return core_->revoke(offer); }

std::size_t Channel::credits(Direction direction) { return core_->credits(direction); }

Result<Lease> Channel::take_lease(Direction direction) { return core_->take_lease(direction); }

Result<Transfer> Channel::put(const Lease& lease, const Region& region, std::uint64_t offset_bytes,
                              std::uint64_t length_bytes, const TransferOptions& options) {
  return core_->put(lease, region, offset_bytes, length_bytes, options);
}

Result<Transfer> Channel::get(const Lease& lease, const Region& region, std::uint64_t offset_bytes,
                              std::uint64_t length_bytes, const TransferOptions& options) {
  return core_->get(lease, region, offset_bytes, length_bytes, options);
}

bool Channel::done(Transfer transfer) { return core_->done(transfer); }

bool Channel::moving(Transfer offer) { return core_->moving(offer); }

Result<Completion> Channel::take_result(Transfer transfer) { return core_->take_result(transfer); }

std::span<const std::byte> Channel::note(Transfer offer) { return core_->note(offer); }

Result<Completion> Channel::wait(Transfer transfer) { return core_->wait(transfer); }

bool Channel::progress() { return core_->progress(); }

void Channel::idle(int timeout_ms) { core_->idle(timeout_ms); }

void Channel::idle(int timeout_ms, int wake_fd) { core_->idle(timeout_ms, wake_fd); }

void Channel::close() { core_->close(); }

const std::optional<Status>& Channel::lost() const noexcept { return core_->lost(); }

std::uint32_t Channel::uncertain() const noexcept { return core_->uncertain(); }

const ChannelStats& Channel::stats() const noexcept { return core_->stats(); }

const ChannelConfig& Channel::config() const noexcept { return core_->config(); }

PathReport Channel::path() const { return core_->path(); }

}  // namespace framewire::transport
