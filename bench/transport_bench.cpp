// Cost of one leased put, both ends counted together: over loopback the channel's own work, over a
// link with the link's, and the link alone. Both ends run by turns on one thread, so that figures
// hold no waiting and can be counted in instructions.
#include <benchmark/benchmark.h>
#include <cstring>
#include <future>
#include <string>
#include <transport/loopback/loopback.hpp>
#include <transport/session/listener.hpp>

namespace {

using namespace framewire::transport;
using session::Joined;

constexpr std::uint64_t kRoom = std::uint64_t{1} << 20;

struct Pair {
  Joined near;
  Joined far;
};

Pair join(const std::string& name) {
  if (name == "loopback") {
    auto [near, far] = make_loopback();
    ChannelConfig config;
    config.epoch = 7;
    config.peer = "peer";
    return {{std::move(near), config}, {std::move(far), config}};
  }
  SessionOptions options;
  options.security.insecure = true;
  options.links = {name};
  options.ucx_device = "lo";
  auto listener = session::Listener::listen("127.0.0.1:0", options).value();
  const std::string address = "127.0.0.1:" + std::to_string(listener.port());
  auto near =
      std::async(std::launch::async, [&] { return session::connect(address, options).value(); });
  auto far = listener.accept(10'000).value();
  return {near.get(), std::move(far)};
}

// One end of a ping-pong: a slot offered, and a message to send.
class End {
 public:
  explicit End(Joined joined) : channel_(std::move(joined.link), joined.config) {}
  void offer(std::uint64_t bytes) { offer_ = channel_.offer(memory_, kRoom, bytes).value(); }
  [[nodiscard]] bool may_send() { return channel_.credits(Direction::kPut) > 0; }
  void send(std::uint64_t bytes) {
    const Lease lease = channel_.take_lease(Direction::kPut).value();
    put_ = channel_.put(lease, memory_, 0, bytes).value();
  }
  void step() { channel_.progress(); }
  [[nodiscard]] bool received() { return channel_.done(offer_); }
  [[nodiscard]] bool confirmed() { return channel_.done(put_); }
  void collect_offer() { channel_.take_result(offer_).value(); }
  void collect_put() { channel_.take_result(put_).value(); }

 private:
  Region memory_ = Region::allocate_host(2 * kRoom).value();
  core::Channel channel_;
  Transfer offer_;
  Transfer put_;
};

// One put from an end that has a lease; it carries a lease for the way back. A function of its own,
// so that callgrind can count it: --toggle-collect=*one_put*.
[[gnu::noinline]] void one_put(End& from, End& to, std::uint64_t bytes, bool first) {
  from.offer(bytes);
  from.send(bytes);
  while (!to.received()) {
    to.step();
    if (!to.received()) from.step();
  }
  to.collect_offer();
  while (!first && !to.confirmed()) to.step();
  if (!first) to.collect_put();
}

void leased_round_trip(benchmark::State& state, const std::string& name) {
  auto pair = join(name);
  End near(std::move(pair.near));
  End far(std::move(pair.far));
  const auto bytes = static_cast<std::uint64_t>(state.range(0));
  far.offer(bytes);
  while (!near.may_send()) {
    far.step();
    near.step();
  }
  one_put(near, far, bytes, true);
  for (auto _ : state) {
    one_put(far, near, bytes, false);
    one_put(near, far, bytes, false);
  }
}

// Answers every packet with the same packet.
class Echo final : public LinkSink {
 public:
  explicit Echo(Link& link) : link_(link) { link.attach(this); }
  Placement on_packet(std::span<const std::byte>, std::uint64_t) override {
    return {memory_.data(), 0};
  }
  void on_received(LinkOp, bool) override { ++received; }
  void on_sent(LinkOp, bool) override {}
  void on_lost(const framewire::Status&) override {}
  void send(std::size_t head, std::uint64_t bytes) {
    const std::array<std::byte, kMaxPacketHead> zeros{};
    if (!link_.send(std::span(zeros).first(head), memory_.data(), bytes, 0)) std::abort();
  }
  void until(std::uint64_t count, Echo& sender) {
    while (received < count) {
      link_.progress();
      if (received < count) sender.link_.progress();
    }
  }
  std::uint64_t received = 0;

 private:
  Link& link_;
  Region memory_ = Region::allocate_host(kRoom).value();
};

void link_round_trip(benchmark::State& state, const std::string& name) {
  auto pair = join(name);
  {
    Echo near(*pair.near.link);
    Echo far(*pair.far.link);
    const auto head = static_cast<std::size_t>(state.range(0));
    const auto bytes = static_cast<std::uint64_t>(state.range(1));
    std::uint64_t count = 0;
    for (auto _ : state) {
      ++count;
      near.send(head, bytes);
      far.until(count, near);
      far.send(head, bytes);
      near.until(count, far);
    }
    pair.near.link->close();
    pair.far.link->close();
    while (pair.near.link->progress() || pair.far.link->progress()) {
    }
    pair.near.link.reset();
    pair.far.link.reset();
  }
}

BENCHMARK_CAPTURE(leased_round_trip, loopback, "loopback")->Arg(8);
BENCHMARK_CAPTURE(leased_round_trip, shared, "shared")->Arg(8)->Arg(4096);
BENCHMARK_CAPTURE(link_round_trip, shared, "shared")
    ->Args({48, 8})
    ->Args({96, 8})
    ->Args({48, 4096});

}  // namespace
