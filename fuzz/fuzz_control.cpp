// Control frames, packets, and messages of several packets: whatever the bytes, decoding gives a
// value that encodes to the same bytes, or a typed error; and a channel fed with them never lets a
// byte move outside its leases.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <transport/batch.hpp>
#include <transport/bytes.hpp>
#include <transport/channel.hpp>
#include <transport/wire/control.hpp>
#include <vector>
#ifdef FRAMEWIRE_HAS_UCX
#include <transport/ucx/fabric_address.hpp>
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
  if (const auto rendezvous = wire::decode_rendezvous(bytes)) {
    const auto again = wire::encode(*rendezvous);
    require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  }
  if (const auto met = wire::decode_met(bytes)) require(wire::encode_met(*met)[0] == bytes[0]);
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

// A channel with one lease of each direction and one request of each kind.
class Target {
 public:
  Target() : channel_(std::make_unique<SilentLink>(), config()) {
    OfferOptions reading;
    reading.direction = Direction::kGet;
    require(channel_.offer(region_, 1000, 100).has_value());
    require(channel_.offer(region_, 2000, 100, reading).has_value());
    require(channel_.put({1, 1, Direction::kPut, 10, false, {}}, region_, 0, 10).has_value());
    require(channel_.get({2, 1, Direction::kGet, 10, false, {}}, region_, 3000, 10).has_value());
  }
  // @return where the payload goes, if anywhere
  std::byte* begin(std::span<const std::byte> head, std::uint64_t payload_bytes) {
    const auto placement = channel_.on_packet(head, payload_bytes);
    if (placement.to == nullptr) return nullptr;
    const auto first = static_cast<std::uint64_t>(placement.to - region_.data());
    const auto end = first + payload_bytes;
    require((first >= 1000 && end <= 1100) || (first >= 3000 && end <= 3010));
    op_ = placement.op;
    return placement.to;
  }
  void end() { channel_.on_received(op_, true); }

 private:
  static ChannelConfig config() {
    ChannelConfig config;
    config.epoch = 1;
    config.capacity = config.peer_capacity = 4;
    config.peer = "fuzzer";
    return config;
  }

  Region region_ = Region::allocate_host(4096).value();
  core::Channel channel_;
  LinkOp op_ = kNoOp;
};

// Reads the input as packets: a byte with the length of the head, one with that of the payload,
// then both.
void check_packets(std::span<const std::byte> bytes) {
  Target target;
  while (bytes.size() >= 2) {
    const auto size =
        std::min<std::size_t>(std::to_integer<std::size_t>(bytes[0]), bytes.size() - 2);
    const auto payload = std::to_integer<std::uint64_t>(bytes[1]);
    if (target.begin(bytes.subspan(2, size), payload) != nullptr) target.end();
    bytes = bytes.subspan(2 + size);
  }
}

// The input as one message of several packets: the length of their heads in two bytes, the heads,
// and the payloads.
void check_message(std::span<const std::byte> bytes) {
  if (bytes.size() < 2) return;
  const std::size_t size =
      std::min<std::size_t>(load<std::uint16_t>(bytes.data()), bytes.size() - 2);
  if (size == 0) return;  // no link lets that through
  // Memory of its own, so that ASan sees a step across its border.
  const std::vector<std::byte> heads(bytes.begin() + 2, bytes.begin() + 2 + size);
  const std::vector<std::byte> payloads(bytes.begin() + 2 + size, bytes.end());
  Target target;
  BatchReader reader(heads, payloads);
  Batch again;
  bool fits = true;
  while (const auto item = reader.next()) {
    require(item->head.size() >= kMinPacketHead);
    fits = fits && again.add(item->head, item->payload.data(), item->payload.size());
    std::byte* const to = target.begin(item->head, item->payload.size());
    if (to == nullptr) continue;
    std::copy(item->payload.begin(), item->payload.end(), to);
    target.end();
  }
  if (!reader.whole() || !fits) return;
  require(
      std::equal(again.heads().begin() + 1, again.heads().end(), heads.begin() + 1, heads.end()));
  require(std::equal(again.payloads().begin(), again.payloads().end(), payloads.begin(),
                     payloads.end()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  check_frames(bytes);
  check_packets(bytes);
  check_message(bytes);
  return 0;
}
