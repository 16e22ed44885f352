// A ring that another process writes as it likes, read into a channel: no byte is written to memory
// that the channel has not offered, and all of it is given back once the connection is closed.
//
// The input is a list of commands, a byte each with their arguments; see run().
#include <unistd.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fuzz/input.hpp>
#include <memory>
#include <transport/channel.hpp>
#include <transport/shared/inbox.hpp>
#include <vector>

namespace {

using namespace framewire;
using namespace framewire::transport;
using shared::RingLayout;

constexpr std::uint64_t kRoom = 32'768;  // of each half of the region
constexpr std::uint64_t kUnit = 4096;    // in which inputs count

void require(bool truth) {
  if (!truth) std::abort();
}

/// A link that hears what comes through the ring, and is not heard itself.
class Wire final : public Link {
 public:
  explicit Wire(shared::Inbox inbox) : inbox_(std::move(inbox)) {}
  ~Wire() override { inbox_.give_up(*sink_); }
  void attach(LinkSink* sink) override { sink_ = sink; }
  bool takes(MemoryKind kind) const override { return kind == MemoryKind::kHost; }
  bool ready() const override { return !closed_; }
  Result<void> send(std::span<const std::byte> head, const std::byte*, std::uint64_t,
                    LinkOp op) override {
    require(head.size() <= kMaxPacketHead);
    if (closed_) return fail(StatusCode::kPeerLost, "closed");
    if (op != kNoOp) sink_->on_sent(op, true);
    return {};
  }
  bool progress() override {
    if (closed_) inbox_.give_up(*sink_);
    if (closed_) return false;
    const auto count = inbox_.drain(16, *sink_);
    if (!count) sink_->on_lost(count.error());
    return count && *count > 0;
  }
  void wait(int) override {}
  void close() override {
    closed_ = true;
    inbox_.close();
  }
  PathReport path() const override { return {"fuzz", 0, Reach::kNone, {}}; }

 private:
  shared::Inbox inbox_;
  LinkSink* sink_ = nullptr;
  bool closed_ = false;
};

std::uint64_t take_two(Input& input) {
  const std::uint64_t high = input.take() << 8;
  return high | input.take();
}

/// Generation and slot.
std::uint64_t take_lease(Input& input) {
  const std::uint64_t generation = input.take();
  return generation << 16 | (input.take() & 15);
}

class Connection {
 public:
  Connection() {
    auto reader = shared::PacketRingReader::make(key_).value();
    const base::FileDescriptor file(::dup(reader.fd()));
    memory_ = shared::SealedMemory::open(file, sizeof(RingLayout), true).value();
    shared::Inbox inbox(std::move(reader));
    ChannelConfig config;
    config.epoch = 1;
    config.capacity = config.peer_capacity = 8;
    channel_ = std::make_unique<core::Channel>(std::make_unique<Wire>(std::move(inbox)), config);
    std::memset(region_.data(), 1, region_.size());
  }
  ~Connection() {
    channel_->close();
    channel_->progress();
    require(channel_->uncertain() == 0);
    channel_.reset();
    require(!region_.in_use());
    // The second half was offered to be read only; all that is written to the first is a 7.
    const auto bytes = region_.bytes();
    require(std::all_of(bytes.begin(), bytes.begin() + kRoom, [](std::byte byte) {
      return byte == std::byte{1} || byte == std::byte{7};
    }));
    require(std::all_of(bytes.begin() + kRoom, bytes.end(),
                        [](std::byte byte) { return byte == std::byte{1}; }));
  }

  void run(Input input) {
    RingLayout& ring = *reinterpret_cast<RingLayout*>(memory_.data());
    while (!input.left.empty()) {
      RingLayout::Slot& slot = ring.slots[(number_ - 1) % RingLayout::kSlots];
      switch (input.take() % 8) {
        case 0:  // an offer
          offer(input.take());
          break;
        case 1: {  // a short put, mostly one that could be right
          ShortPut put;
          put.epoch = static_cast<std::uint32_t>(input.take() & 3);
          put.request = input.take();
          put.lease = take_lease(input);
          put.flags = static_cast<std::uint8_t>(input.take());
          put.grant = take_lease(input);
          put.grant_ms = static_cast<std::uint32_t>(input.take());
          put.ack = input.take();
          put.ack_count = static_cast<std::uint16_t>(input.take() << 4);
          std::memset(slot.beside.data(), 7, slot.beside.size());
          std::memcpy(slot.beside.data(), &put, sizeof put);
          publish(slot, RingLayout::kShort, input.take() * 33);
          break;
        }
        case 2: {  // a put of the other form, whole or its first part
          Packet packet;
          packet.kind = PacketKind::kPut;
          packet.epoch = 1;
          packet.request = input.take();
          packet.lease = take_lease(input);
          packet.offset_bytes = input.take() * kUnit;
          packet.length_bytes = input.take() * kUnit;
          std::array<std::byte, kMaxPacketHead> head;
          const std::size_t bytes = encode(packet, head);
          std::memset(slot.beside.data(), 7, slot.beside.size());
          std::copy_n(head.begin(), bytes, slot.beside.begin());
          store(slot.beside.data() + bytes, input.take() * kUnit);
          const std::uint64_t is_long = (input.take() & 1) << 15;
          publish(slot, is_long | bytes, input.take() * 33);
          break;
        }
        case 3:  // a further part
          publish(slot, RingLayout::kMore, input.take() * 33);
          break;
        case 4: {  // a head of any bytes
          for (std::size_t i = 0, count = input.take() % 64; i < count; ++i) {
            slot.beside[i] = static_cast<std::byte>(input.take());
          }
          const std::uint64_t kind = take_two(input);
          publish(slot, kind, take_two(input));
          break;
        }
        case 5:
          if (!offers_.empty()) {
            static_cast<void>(channel_->revoke(offers_[input.take() % offers_.size()]));
          }
          break;
        case 6:
          if (const auto lease = channel_->take_lease(Direction::kPut)) {
            static_cast<void>(channel_->put(*lease, region_, kRoom, input.take()));
          }
          break;
        default:
          channel_->progress();
      }
    }
    for (int i = 0; i < 8; ++i) channel_->progress();
    for (const Transfer offer : offers_) static_cast<void>(channel_->take_result(offer));
  }

 private:
  void offer(std::uint64_t what) {
    OfferOptions options;
    options.direction = (what & 1) != 0 ? Direction::kGet : Direction::kPut;
    const std::uint64_t from = (what & 1) != 0 ? kRoom : 0;
    const auto offered =
        channel_->offer(region_, from + (what >> 1 & 7) * kUnit, (what >> 4 & 1) * kUnit, options);
    if (offered) offers_.push_back(*offered);
  }
  void publish(RingLayout::Slot& slot, std::uint64_t kind, std::uint64_t payload) {
    auto& body =
        reinterpret_cast<RingLayout*>(memory_.data())->bodies[(number_ - 1) % RingLayout::kSlots];
    std::memset(body.data(), 7, body.size());
    slot.word = (number_++ & 0xffffffff) | kind << 32 | payload << 48;
  }

  shared::RingKey key_{};
  shared::SealedMemory memory_;
  Region region_ = Region::allocate_host(2 * kRoom).value();
  std::unique_ptr<core::Channel> channel_;
  std::vector<Transfer> offers_;
  std::uint64_t number_ = 1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Connection connection;
  connection.run({std::as_bytes(std::span(data, size))});
  return 0;
}
