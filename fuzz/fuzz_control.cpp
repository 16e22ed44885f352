// Control frames and packets: whatever the bytes, decoding gives a value that encodes to the same
// bytes, or a typed error; and a channel fed with them never lets a byte move outside its leases.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>
#include "transport/channel.hpp"
#include "transport/wire/control.hpp"
#ifdef FRAMEWIRE_HAS_UCX
#include "transport/ucx/fabric_address.hpp"
#endif

namespace {

using namespace framewire;
using namespace framewire::transport;

void require(bool truth) {
  if (!truth) std::abort();
}

// Swallows what is sent, and is done with it at once.
class SilentLink final : public Link {
 public:
  void attach(LinkSink* sink) override { sink_ = sink; }
  bool takes(MemoryKind) const override { return true; }
  bool ready() const override { return true; }
  Result<void> send(std::span<const std::byte>, const std::byte*, std::uint64_t,
                    LinkOp op) override {
    if (op != kNoOp) sink_->on_sent(op, true);
    return {};
  }
  bool progress() override { return false; }
  void wait(int) override {}
  void close() override {}
  PathReport path() const override { return {"silent", 0}; }

 private:
  LinkSink* sink_ = nullptr;
};

void check_frames(std::span<const std::byte> bytes) {
  if (bytes.size() >= wire::kFrameHeadBytes) {
    const auto head = wire::decode_frame_head(bytes.first<wire::kFrameHeadBytes>());
    if (head) require(head->body_bytes <= wire::kMaxBodyBytes);
  }
  if (const auto greeting = wire::decode_greeting(bytes)) {
    const auto again = wire::encode(*greeting);
    require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  }
  require(wire::decode_refusal(bytes).message().size() < 1024);
#ifdef FRAMEWIRE_HAS_UCX
  if (const auto address = ucx::decode_address(bytes)) {
    const auto again = ucx::encode(*address);
    require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  }
#endif
  Packet packet;
  if (decode(bytes, packet)) {
    std::array<std::byte, kMaxPacketHead> again;
    const auto size = encode(packet, again);
    require(size == bytes.size() && std::equal(bytes.begin(), bytes.end(), again.begin()));
  }
}

// The input as packets of a length byte each, to a channel with one lease of each direction and one
// request of each kind.
void check_channel(std::span<const std::byte> bytes) {
  ChannelConfig config;
  config.epoch = 1;
  config.capacity = config.peer_capacity = 4;
  config.peer = "fuzzer";
  core::Channel channel(std::make_unique<SilentLink>(), config);
  const Region region = Region::allocate_host(4096).value();
  OfferOptions reading;
  reading.direction = Direction::kGet;
  require(channel.offer(region, 1000, 100).has_value());
  require(channel.offer(region, 2000, 100, reading).has_value());
  require(channel.put({1, 1, Direction::kPut, 10, false, {}}, region, 0, 10).has_value());
  require(channel.get({2, 1, Direction::kGet, 10, false, {}}, region, 3000, 10).has_value());
  while (bytes.size() >= 2) {
    const auto size =
        std::min<std::size_t>(std::to_integer<std::size_t>(bytes[0]), bytes.size() - 2);
    const auto payload = std::to_integer<std::uint64_t>(bytes[1]);
    const auto placement = channel.on_packet(bytes.subspan(2, size), payload);
    bytes = bytes.subspan(2 + size);
    if (placement.to == nullptr) continue;
    const auto begin = static_cast<std::uint64_t>(placement.to - region.data());
    const auto end = begin + payload;
    require((begin >= 1000 && end <= 1100) || (begin >= 3000 && end <= 3010));
    channel.on_received(placement.op, true);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  check_frames(bytes);
  check_channel(bytes);
  return 0;
}
