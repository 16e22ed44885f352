// What one-sided attacks are aimed at: a channel of ours, and a program that trusts UCX.
#pragma once

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <tests/transport/servant.hpp>
#include <tests/transport/ucx/one_sided.hpp>
#include <transport/channel.hpp>
#include <transport/ucx/port.hpp>
#include <vector>

namespace framewire::transport::testing {

/// Parts of a victim's memory, a page each, and what the victim means by them.
enum class Part { kWritable, kReadable, kWithdrawn, kPrivate, kCount };

inline constexpr std::size_t kPartBytes = 4096;
inline constexpr unsigned kSeed = 40;

class Victim {
 public:
  virtual ~Victim() = default;
  [[nodiscard]] virtual std::vector<std::byte> address() const = 0;
  /// The key to a part that the victim has given away; empty where it gives none.
  [[nodiscard]] virtual std::vector<std::byte> key(Part part) const = 0;
  virtual void step() = 0;

  [[nodiscard]] std::span<std::byte> part(Part part) {
    return memory_.bytes().subspan(static_cast<std::size_t>(part) * kPartBytes, kPartBytes);
  }
  [[nodiscard]] bool unharmed() const { return holds(memory_.bytes(), kSeed); }

 protected:
  Victim() { fill(memory_.bytes(), kSeed); }
  Region memory_ =
      Region::allocate_host(static_cast<std::size_t>(Part::kCount) * kPartBytes).value();
};

struct Alive final : ucx::Lifeline {
  Result<void> check() override { return {}; }
};

/// One end of a connection of ours, with leases out on some parts, and one revoked.
class OurVictim final : public Victim {
 public:
  /// @return unsupported where such lanes are not there
  [[nodiscard]] static Result<std::unique_ptr<OurVictim>> make(ucx::Lanes lanes,
                                                               const std::string& device) {
    auto port = ucx::make_port(lanes, device);
    auto peer = ucx::make_port(lanes, device);
    if (!port || !peer) return fail(port ? peer.error() : port.error());
    std::unique_ptr<OurVictim> self(new OurVictim);
    const auto blob = (*port)->blob();
    self->address_.assign(blob.begin() + 17, blob.end());
    // Each waits for the other.
    const auto back = (*peer)->blob();
    auto joining = std::async(std::launch::async, [&] { return join(**port, back); });
    self->peer_ = join(**peer, blob);
    self->channel_ = joining.get();
    if (!self->channel_ || !self->peer_) return fail(StatusCode::kPeerLost, "cannot join");
    self->grant();
    return self;
  }
  /// The same on a connection that stands.
  [[nodiscard]] static std::unique_ptr<OurVictim> on(std::unique_ptr<Link> link) {
    std::unique_ptr<OurVictim> self(new OurVictim);
    self->channel_ = channel(std::move(link));
    self->grant();
    return self;
  }
  std::vector<std::byte> address() const override { return address_; }
  std::vector<std::byte> key(Part) const override { return {}; }
  void step() override {
    channel_->progress();
    if (peer_) peer_->progress();
  }
  /// Whether the connection still does what it is for.
  [[nodiscard]] bool serves() {
    const Region source = Region::allocate_host(kPartBytes).value();
    for (int i = 0; i < 20'000 && peer_->credits(Direction::kPut) == 0; ++i) step();
    const auto lease = peer_->take_lease(Direction::kPut);
    if (!lease) return false;
    const auto put = peer_->put(*lease, source, 0, kPartBytes);
    for (int i = 0; put && i < 20'000 && !peer_->done(*put); ++i) step();
    return put && peer_->take_result(*put) && all_zero(part(Part::kWritable));
  }

 private:
  OurVictim() = default;
  static std::unique_ptr<Channel> join(ucx::Port& port, const std::vector<std::byte>& peer) {
    const auto deadline = base::Clock::now() + std::chrono::seconds(10);
    auto link = port.join(peer, std::make_unique<Alive>(), deadline);
    return link ? channel(std::move(*link)) : nullptr;
  }
  static std::unique_ptr<Channel> channel(std::unique_ptr<Link> link) {
    ChannelConfig config;
    config.epoch = 7;
    config.capacity = config.peer_capacity = 16;
    return std::make_unique<Channel>(make_channel(std::move(link), config));
  }
  void grant() {
    static_cast<void>(lease(Part::kWritable, Direction::kPut));
    static_cast<void>(lease(Part::kReadable, Direction::kGet));
    const auto offer = lease(Part::kWithdrawn, Direction::kPut);
    if (offer) static_cast<void>(channel_->revoke(*offer));
  }
  Result<Transfer> lease(Part part, Direction direction) {
    OfferOptions options;
    options.direction = direction;
    return channel_->offer(memory_, static_cast<std::size_t>(part) * kPartBytes, kPartBytes,
                           options);
  }

  std::vector<std::byte> address_;
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<Channel> peer_;
};

/// Hands out UCX's keys, and believes that they protect it.
class CarelessVictim final : public Victim {
 public:
  [[nodiscard]] static Result<std::unique_ptr<CarelessVictim>> make(const UcxSettings& settings,
                                                                    int patience_ms = 0) {
    auto self = std::unique_ptr<CarelessVictim>(new CarelessVictim);
    auto opened = OneSided::open(settings, 0, patience_ms);
    if (!opened) return fail(opened.error());
    self->ucx_ = std::move(*opened);
    constexpr unsigned kRead = UCP_MEM_MAP_PROT_LOCAL_READ | UCP_MEM_MAP_PROT_REMOTE_READ;
    constexpr unsigned kWrite = UCP_MEM_MAP_PROT_LOCAL_WRITE | UCP_MEM_MAP_PROT_REMOTE_WRITE;
    self->map(Part::kWithdrawn, 0);
    self->ucx_->unmap();
    self->map(Part::kWritable, kWrite);
    self->map(Part::kReadable, kRead);
    return self;
  }
  std::vector<std::byte> address() const override { return ucx_->address(); }
  std::vector<std::byte> key(Part part) const override {
    return keys_[static_cast<std::size_t>(part)];
  }
  void step() override { ucx_->step(); }
  [[nodiscard]] OneSided& ucx() { return *ucx_; }

 private:
  CarelessVictim() = default;
  void map(Part which, unsigned protection) {
    keys_[static_cast<std::size_t>(which)] = ucx_->map(part(which), protection);
  }

  std::unique_ptr<OneSided> ucx_;
  std::array<std::vector<std::byte>, static_cast<std::size_t>(Part::kCount)> keys_;
};

}  // namespace framewire::transport::testing
