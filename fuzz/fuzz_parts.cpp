// Payloads in parts, as they travel to and from device memory: whatever a peer sends and in
// whatever order copies end, no byte is written to memory that the channel has given back, and all
// of it is given back once the connection is closed.
//
// The input is a list of commands, a byte each with their arguments; see run().
#include <unistd.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fuzz/input.hpp>
#include <map>
#include <memory>
#include <transport/channel.hpp>
#include <transport/peer/device_link.hpp>
#include <transport/peer/parts.hpp>
#include <vector>

namespace {

using namespace framewire;
using namespace framewire::transport;

constexpr std::size_t kRoom = 32'768;  // of each region, all of it one offer
constexpr std::uint64_t kUnit = 4096;  // in which inputs count: the least part

void require(bool truth) {
  if (!truth) std::abort();
}

struct Memory final : SharedMemory {
  explicit Memory(std::size_t size) : bytes_(size) {}
  std::byte* data() const noexcept override { return const_cast<std::byte*>(bytes_.data()); }
  std::uint64_t bytes() const noexcept override { return bytes_.size(); }
  int fd() const noexcept override { return -1; }
  std::vector<std::byte> bytes_;
};

/// One device, of ordinary memory. Copies are made one by one, when the input says so.
class Device final : public DeviceMemory {
 public:
  struct Copy {
    std::byte* to;
    const std::byte* from;
    std::uint64_t bytes;
    Arrival arrival{};
  };
  class Queue final : public CopyQueue {
   public:
    explicit Queue(Device& device) : device_(device) {}
    Result<Ticket> copy_and_tell(std::byte* to, const std::byte* from, std::uint64_t bytes, Sides,
                                 Tell& tell) override {
      tell.number = 0;
      copies_.push_back({to, from, bytes});
      return last_ += 1;
    }
    Result<Ticket> copy_on_arrival(std::byte* to, const std::byte* from, std::uint64_t bytes,
                                   const Arrival& arrival) override {
      copies_.push_back({to, from, bytes, arrival});
      return last_ += 1;
    }
    bool gave_up(Ticket ticket) override { return std::erase(given_up_, ticket) > 0; }
    Result<Ticket> completed() override {
      for (; device_.pace > 0 && !copies_.empty(); --device_.pace) make_one();
      return last_ - copies_.size();
    }
    Result<void> synchronize() override {
      while (!copies_.empty()) make_one();
      return {};
    }
    Result<void> precede(int, CudaStream) override { return {}; }

   private:
    void make_one() {
      const Copy copy = copies_.front();
      const Ticket ticket = last_ - copies_.size() + 1;
      copies_.pop_front();
      for (unsigned i = 0; i < copy.arrival.count; ++i) {
        if (copy.arrival.words[i] == copy.arrival.number) continue;
        given_up_.push_back(ticket);
        return;
      }
      device_.check(copy.to, copy.bytes);
      std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.bytes));
    }
    Device& device_;
    std::deque<Copy> copies_;
    std::vector<Ticket> given_up_;
    Ticket last_ = 0;
  };

  int count() const noexcept override { return 1; }
  DeviceId id(int) const override { return {}; }
  Reach reach(int, int) override { return Reach::kP2p; }
  Result<std::byte*> allocate(int, std::size_t bytes) override { return allocate_pinned(bytes); }
  void release(int, std::byte* memory) noexcept override { release_pinned(memory); }
  Result<std::byte*> allocate_pinned(std::size_t bytes) override { return new std::byte[bytes](); }
  void release_pinned(std::byte* memory) noexcept override { delete[] memory; }
  Result<std::byte*> pin(std::byte* memory, std::size_t) override { return memory; }
  Result<std::uint64_t> buffer_id(int, const std::byte*) const override { return 1; }
  Result<std::unique_ptr<SharedMemory>> share(int, std::size_t bytes) override {
    return std::make_unique<Memory>(bytes);
  }
  Result<std::unique_ptr<SharedMemory>> import(int, int, int, std::size_t bytes) override {
    return std::make_unique<Memory>(bytes);
  }
  Result<std::unique_ptr<CopyQueue>> make_queue(int) override {
    return std::make_unique<Queue>(*this);
  }
  Result<std::unique_ptr<Mark>> mark(int, CudaStream) override {
    return fail(StatusCode::kUnsupported, "streams");
  }

  /// What is written to a region must be inside it, and the region in use.
  void check(const std::byte* to, std::uint64_t bytes) const {
    for (const Region& region : watched) {
      if (to < region.data() || to >= region.data() + region.size()) continue;
      require(region.contains(static_cast<std::uint64_t>(to - region.data()), bytes));
      require(region.in_use());
    }
  }

  unsigned pace = 0;  ///< copies that may be made
  std::vector<Region> watched;
};

/// The link below: keeps what it was given to send or to fill until the input says how it ends.
class Wire final : public Link {
 public:
  explicit Wire(const Device& device) : device_(device) {}
  void attach(LinkSink* sink) override { sink_ = sink; }
  bool takes(MemoryKind kind) const override { return kind == MemoryKind::kHost; }
  bool ready() const override { return !closed_; }
  Result<void> send(std::span<const std::byte> head, const std::byte*, std::uint64_t,
                    LinkOp op) override {
    if (closed_) return fail(StatusCode::kPeerLost, "closed");
    require(head.size() <= kMaxPacketHead);
    if (op != kNoOp) sent_.push_back(op);
    return {};
  }
  bool progress() override {
    if (!closed_) return false;
    const bool any = !sent_.empty() || !filling_.empty();
    while (!sent_.empty()) end_send(0, false);
    while (!filling_.empty()) end_fill(0, false);
    return any;
  }
  void wait(int) override {}
  void close() override { closed_ = true; }
  PathReport path() const override { return {"fuzz", 0, Reach::kNone, {}}; }

  void deliver(std::span<const std::byte> head, std::uint64_t payload_bytes) {
    if (closed_) return;
    const Placement placement = sink_->on_packet(head, payload_bytes);
    if (placement.to != nullptr) filling_.push_back({placement, payload_bytes});
  }
  void end_send(std::size_t which, bool ok) {
    if (sent_.empty()) return;
    const auto place = sent_.begin() + static_cast<std::ptrdiff_t>(which % sent_.size());
    const LinkOp op = *place;
    sent_.erase(place);
    sink_->on_sent(op, ok);
  }
  void end_fill(std::size_t which, bool ok) {
    if (filling_.empty()) return;
    const auto place = filling_.begin() + static_cast<std::ptrdiff_t>(which % filling_.size());
    const Filling filling = *place;
    filling_.erase(place);
    device_.check(filling.to.to, filling.bytes);
    std::memset(filling.to.to, 7, static_cast<std::size_t>(filling.bytes));
    if (filling.to.op != kNoOp) sink_->on_received(filling.to.op, ok);
  }

 private:
  struct Filling {
    Placement to;
    std::uint64_t bytes;
  };
  const Device& device_;
  LinkSink* sink_ = nullptr;
  std::deque<LinkOp> sent_;
  std::deque<Filling> filling_;
  bool closed_ = false;
};

/// With the words of whoever pushes, as its side has them.
struct Handed {
  std::unique_ptr<peer::ReceiveBuffer> buffer;
  std::unique_ptr<peer::Words> words;
};
Handed make_buffer(Device& device) {
  Handed handed{std::make_unique<peer::ReceiveBuffer>(), peer::Words::make(device).value()};
  peer::ReceiveBuffer& buffer = *handed.buffer;
  buffer.slots = 3;
  buffer.slot_bytes = 2 * kUnit;
  buffer.arrival_words = 2;
  buffer.memory = std::make_unique<Memory>(buffer.bytes());
  buffer.devices = &device;
  buffer.owner = buffer.user = 0;
  return handed;
}

class Connection {
 public:
  explicit Connection(unsigned buffers) {
    peer::ReceiveBuffers handed;
    if ((buffers & 1) != 0) {
      Handed ours = make_buffer(device_);
      ours.buffer->words = peer::Words::open(base::FileDescriptor(::dup(ours.words->fd()))).value();
      words_ = std::move(ours.words);
      buffer_ = ours.buffer.get();
      handed.ours = std::move(ours.buffer);
    }
    if ((buffers & 2) != 0) {
      Handed theirs = make_buffer(device_);
      theirs.buffer->words = std::move(theirs.words);
      handed.theirs = std::move(theirs.buffer);
    }
    auto wire = std::make_unique<Wire>(device_);
    wire_ = wire.get();
    ChannelConfig config;
    config.epoch = 1;
    config.capacity = config.peer_capacity = 8;
    config.peer = "fuzzer";
    channel_ = std::make_unique<core::Channel>(
        peer::make_device_link(std::move(wire), std::move(handed)), config);
    device_.watched = {host_, on_device_};
    require(channel_->offer(on_device_, 0, kRoom).has_value());
    require(channel_->offer(host_, 0, kRoom).has_value());
  }

  void run(Input& in) {
    switch (in.take() % 9) {
      case 0:
      case 1:
        return part(in);
      case 2: {
        const auto which = in.take();
        return wire_->end_fill(which / 2, which % 2 == 0);
      }
      case 3:
        device_.pace = static_cast<unsigned>(in.take() % 8);
        channel_->progress();
        return;
      case 4:
        return free(in);
      case 5:
        return raw(in);
      case 6:
        return put(in.take());
      case 7:
        return tell(in);
      default: {
        const auto which = in.take();
        return wire_->end_send(which / 2, which % 2 == 0);
      }
    }
  }

  /// Whatever has happened, closing gives all memory back.
  void end() {
    channel_->close();
    device_.pace = 1000;
    for (int i = 0; i < 100 && channel_->uncertain() > 0; ++i) channel_->progress();
    require(channel_->uncertain() == 0);
    for (const Region& region : {host_, on_device_, source_, host_source_}) {
      require(!region.in_use());
    }
    channel_.reset();
  }

 private:
  void part(Input& in) {
    peer::PartHead head;
    const auto flags = in.take();
    head.landed = (flags & 1) != 0;
    head.slot = static_cast<std::uint8_t>(in.take() % 34);
    head.told = head.landed && (flags & 64) != 0;
    if (head.told) {
      head.number = static_cast<std::uint32_t>(in.take() % 3);
      head.arrivals = static_cast<std::uint8_t>(in.take() % 4);
    }
    head.message = in.take() % 4;
    head.total = in.take() * kUnit + ((flags & 2) != 0 ? 5 : 0);
    head.part_bytes = in.take() % 16 * kUnit + ((flags & 2) != 0 ? 5 : 0);
    head.offset = in.take() % 16 * head.part_bytes;
    head.bytes = std::min(head.part_bytes, head.total - std::min(head.total, head.offset));
    Packet packet;
    packet.kind = PacketKind::kPut;
    packet.epoch = 1;
    packet.request = 1 + (flags >> 3 & 3);
    packet.lease = lease_id(static_cast<std::uint32_t>(flags >> 5 & 1), 1);
    packet.length_bytes = head.total;
    std::array<std::byte, kMaxPacketHead> inner;
    const auto inner_bytes = encode(packet, inner);
    peer::HeadBuffer bytes;
    const auto size = peer::encode(head, std::span(inner).first(inner_bytes), bytes);
    const auto lie = (flags & 4) != 0 ? 1U : 0U;
    wire_->deliver(std::span(bytes).first(size), (head.landed ? 0 : head.bytes) + lie);
  }
  /// A slot's words say that a number has landed, on the host's side or on the device's.
  void tell(Input& in) {
    if (buffer_ == nullptr || words_ == nullptr) return;
    const auto choice = static_cast<unsigned>(in.take());
    const unsigned slot = choice / 16 % buffer_->slots;
    const std::uint64_t number = choice / 4 % 4;
    if ((choice & 1) != 0) *words_->device_word(slot) = number;
    if ((choice & 2) != 0) std::fill_n(buffer_->arrivals(slot), buffer_->arrival_words, number);
  }
  void free(Input& in) {
    peer::HeadBuffer bytes;
    peer::FreeSlots slots;
    slots.staged = static_cast<std::uint32_t>(in.take());
    slots.landed = static_cast<std::uint32_t>(in.take());
    wire_->deliver(std::span(bytes).first(peer::encode(slots, bytes)), 0);
  }
  void raw(Input& in) {
    const auto size = std::min<std::size_t>(in.take(), in.left.size());
    const auto payload_bytes = in.take();
    const auto head = in.left.first(std::min(size, in.left.size()));
    in.left = in.left.subspan(head.size());
    wire_->deliver(head, payload_bytes);
  }
  void put(std::uint64_t choice) {
    const Lease lease{lease_id(1, choice), 1, Direction::kPut, kRoom, (choice & 1) != 0, {}};
    static_cast<void>(
        channel_->put(lease, (choice & 2) != 0 ? source_ : host_source_, 0, kRoom, {}));
  }

  Device device_;
  Region host_ = Region::allocate_host(kRoom).value();
  Region on_device_ = Region::allocate_device(device_, 0, kRoom).value();
  Region source_ = Region::allocate_device(device_, 0, kRoom).value();
  Region host_source_ = Region::allocate_host(kRoom).value();
  Wire* wire_ = nullptr;
  std::unique_ptr<peer::Words> words_;     ///< with which somebody pushes to ours
  peer::ReceiveBuffer* buffer_ = nullptr;  ///< ours, as long as the channel lives
  std::unique_ptr<core::Channel> channel_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in{{reinterpret_cast<const std::byte*>(data), size}};
  Connection connection(static_cast<unsigned>(in.take()));
  for (int commands = 0; !in.left.empty() && commands < 500; ++commands) connection.run(in);
  connection.end();
  return 0;
}
