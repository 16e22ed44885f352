#include <algorithm>
#include <transport/peer/receiver.hpp>
#include <utility>

namespace framewire::transport::peer {
namespace {

// Messages that may be open at once: an honest peer has no more of them than slots.
constexpr std::size_t kMaxMessages = 4 * kSlots;
// After a part that did not arrive while the device waited, so many others are not waited for.
constexpr unsigned kNotAwaited = 64;

tl::unexpected<Status> broken(const char* what) { return fail(StatusCode::kInvalidInput, what); }

}  // namespace

Receiver::Receiver(const Link& inner, LinkOp first_op, ReceiveBuffer* ours)
    : inner_(inner), first_op_(first_op), ours_(ours) {}

Result<Placement> Receiver::on_part(std::span<const std::byte> head, std::uint64_t payload_bytes,
                                    LinkSink& sink) {
  const auto part = decode_part(head);
  if (!part) return fail(part.error());
  if (closed_) return Placement{};
  const unsigned slots = !part->landed ? kSlots : ours_ != nullptr ? ours_->slots : 0;
  if (part->slot >= slots || slot(part->landed, part->slot).state != State::kFree) {
    return broken("a part in a slot that is not free");
  }
  if (part->bytes > (part->landed ? ours_->slot_bytes : kStagedPartBytes) ||
      payload_bytes != (part->landed ? 0 : part->bytes)) {
    return broken("a part that does not fit its slot");
  }
  if ((part->told && ours_->words == nullptr) ||
      (part->arrivals != 0 && part->arrivals > ours_->arrival_words)) {
    return broken("a part that nothing here can tell");
  }
  const auto message = message_of(*part, head.subspan(kPartHeadBytes), sink);
  if (!message) return fail(message.error());
  if (auto taken = take_part(**message, *part); !taken) return fail(taken.error());
  Slot& into = slot(part->landed, part->slot);
  into.message = *message;
  into.offset = part->offset;
  into.bytes = part->bytes;
  into.from = nullptr;
  into.by_card = false;
  into.state = State::kFilling;
  ++used_;
  ++(*message)->in_slots;
  if ((*message)->to.to == nullptr || closed_) {  // refused, or the owner has just closed
    end_part(part->landed, part->slot, false);
    return Placement{};
  }
  if (!part->landed) {
    auto placement = stage(into, *part);
    if (!placement) end_part(false, part->slot, false);
    return placement;
  }
  into.from = ours_->slot(part->slot);
  into.number = part->number;
  into.arrivals = part->number != 0 ? part->arrivals : 0;
  into.state = part->told ? State::kArriving : State::kFilled;
  return Placement{};
}

// The message that a part belongs to. The first part to come asks the sink where it goes.
Result<Receiver::Message*> Receiver::message_of(const PartHead& part,
                                                std::span<const std::byte> packet, LinkSink& sink) {
  const auto found = std::find_if(messages_.begin(), messages_.end(), [&](const Message& message) {
    return message.first.message == part.message && message.left > 0;
  });
  if (found != messages_.end()) return &*found;
  if (messages_.size() >= kMaxMessages) return broken("more messages in parts than slots");
  const Placement to = sink.on_packet(packet, part.total);
  if (spare_.empty()) spare_.emplace_back();
  messages_.splice(messages_.end(), spare_, spare_.begin());
  Message& message = messages_.back();
  message.first = part;
  message.to = to;
  message.left = message.unqueued = part.total;
  message.in_slots = 0;
  message.ok = true;
  message.seen.clear();
  return &message;
}

Result<void> Receiver::take_part(Message& message, const PartHead& part) {
  if (part.total != message.first.total || part.part_bytes != message.first.part_bytes) {
    return broken("parts of different messages under one number");
  }
  // A message that the sink has refused may claim any length, so nothing is kept of its parts.
  if (message.to.to == nullptr) return {};
  const auto index = static_cast<std::size_t>(part.offset / part.part_bytes);
  message.seen.resize(static_cast<std::size_t>((part.total - 1) / part.part_bytes + 1));
  if (message.seen[index]) return broken("a part that has come before");
  message.seen[index] = true;
  return {};
}

// Bytes for a device go to a slot on it first where the link writes there, else to pinned memory;
// others straight to their place.
Result<Placement> Receiver::stage(Slot& into, const PartHead& part) {
  const Message& message = *into.message;
  const LinkOp op = first_op_ + part.slot;
  const DeviceUse* use = message.to.device;
  if (use == nullptr) return Placement{message.to.to + part.offset, op};
  into.by_card = inner_.reaches(*use);
  const auto memory = into.by_card ? into.card.get(*use->devices, use->device, kStagedPartBytes)
                                   : into.pinned.get(*use->devices, kStagedPartBytes);
  if (!memory) return fail(memory.error());
  into.from = *memory;
  return Placement{*memory, op, into.by_card ? &into.card.use() : nullptr};
}

void Receiver::on_received(unsigned index, bool ok) {
  Slot& filled = slot(false, index);
  if (filled.state != State::kFilling) return;
  if (!ok || filled.from == nullptr || closed_) {
    end_part(false, index, ok && filled.from == nullptr);
  } else {
    filled.state = State::kFilled;
  }
}

// The queue for a part that has come, once the device sees the bytes.
Result<CopyQueue*> Receiver::prepare(const Slot& filled, bool landed) {
  const DeviceUse* use = filled.message->to.device;
  if (filled.by_card) {
    if (auto settled = use->devices->settle_writes(use->device); !settled) {
      return fail(settled.error());
    }
  }
  DeviceMemory& devices = use != nullptr ? *use->devices : *ours_->devices;
  return queues_.of(devices, landed ? ours_->owner : use->device);
}

// Work that begins after a network card has written sees the bytes; a kernel that was running
// already need not.
Sides Receiver::sides_of_copy(const Slot& filled, bool landed) const {
  const DeviceUse* use = filled.message->to.device;
  const bool pushed = landed && use != nullptr && use->devices == ours_->devices;
  if (!pushed) return Sides::kAny;
  return use->device == ours_->owner ? Sides::kOneDevice : sides_of(ours_->owner, *use);
}

Result<void> Receiver::enqueue(Slot& filled, bool landed, LinkSink& sink) {
  Message& message = *filled.message;
  const DeviceUse* use = message.to.device;
  if (use != nullptr && !use->ready()) return {};
  const auto queue = prepare(filled, landed);
  if (!queue) return fail(queue.error());
  const auto ticket = (*queue)->copy(message.to.to + filled.offset, filled.from, filled.bytes,
                                     sides_of_copy(filled, landed));
  if (!ticket) return fail(ticket.error());
  begin(filled, **queue, *ticket);
  if (!filled.by_card && (!landed || use == nullptr)) staged_bytes_ += filled.bytes;
  message.unqueued -= filled.bytes;
  if (use == nullptr || !use->stream) return {};
  // Looks at every part, since parts may have come through several queues.
  if (auto told = (*queue)->precede(use->device, *use->stream); !told) return told;
  if (message.unqueued == 0 && message.ok) sink.on_enqueued(message.to.op);
  return {};
}

void Receiver::begin(Slot& copied, CopyQueue& queue, Ticket ticket) {
  copied.queue = &queue;
  copied.ticket = ticket;
  copied.state = State::kCopying;
  ++copying_;
}

// While the bytes are still on their way: the device finds out by itself when they are there, which
// saves a trip to the host and back. Not where a stream has to wait for the copy, which it may give
// up; then they are waited for here.
Result<void> Receiver::enqueue_ahead(unsigned index) {
  Slot& arriving = slot(true, index);
  const Message& message = *arriving.message;
  const DeviceUse* use = message.to.device;
  if (use != nullptr && !use->ready()) return {};
  Arrival arrival{ours_->arrivals(index), std::exchange(arriving.arrivals, 0), arriving.number};
  if (not_awaited_ > 0) {
    --not_awaited_;
    return {};
  }
  if (use == nullptr || use->stream || sides_of_copy(arriving, true) == Sides::kAny) return {};
  const auto queue = prepare(arriving, true);
  if (!queue) return fail(queue.error());
  const auto ticket = (*queue)->copy_on_arrival(message.to.to + arriving.offset, arriving.from,
                                                arriving.bytes, arrival);
  if (!ticket) return fail(ticket.error());
  if (*ticket != 0) begin(arriving, **queue, *ticket);
  return {};
}

// Bytes that did not arrive while the device waited are waited for by the host.
void Receiver::end_copy(bool landed, unsigned index) {
  Slot& copied = slot(landed, index);
  const bool made = !copied.queue->gave_up(copied.ticket);
  if (!made) not_awaited_ = kNotAwaited;
  --copying_;
  if (made || closed_) {
    end_part(landed, index, made);
  } else {
    copied.state = State::kArriving;
  }
}

// The word is written by the peer, and believed as little as its packets.
bool Receiver::has_landed(unsigned index) const {
  return static_cast<std::uint32_t>(ours_->words->read(index)) == slots_[1][index].number;
}

Result<bool> Receiver::pump(LinkSink& sink) {
  if (used_ == 0) return false;
  bool moved = false;
  CopyQueue* asked = nullptr;
  Result<Ticket> completed = Ticket{0};
  for (const bool landed : {false, true}) {
    const unsigned count = !landed ? kSlots : ours_ != nullptr ? ours_->slots : 0;
    for (unsigned i = 0; i < count && used_ > 0; ++i) {
      Slot& one = slot(landed, i);
      if (one.state == State::kArriving && has_landed(i)) one.state = State::kFilled;
      if (one.state == State::kArriving && one.arrivals > 0 && !closed_) {
        if (auto begun = enqueue_ahead(i); !begun) return fail(begun.error());
        moved = moved || one.state == State::kCopying;
      }
      if (one.state == State::kFilled && !closed_) {
        if (auto begun = enqueue(one, landed, sink); !begun) return fail(begun.error());
        moved = moved || one.state == State::kCopying;
      }
      if (one.state != State::kCopying) continue;
      if (one.queue != asked || moved) {
        asked = one.queue;
        completed = asked->completed();
      }
      if (!completed) return fail(completed.error());
      if (*completed < one.ticket) continue;
      end_copy(landed, i);
      moved = true;
    }
  }
  return moved;
}

void Receiver::end_part(bool landed, unsigned index, bool ok) {
  Slot& ended = slot(landed, index);
  Message& message = *ended.message;
  message.left -= ended.bytes;
  message.ok = message.ok && ok;
  --message.in_slots;
  ended.message = nullptr;
  ended.queue = nullptr;
  ended.state = State::kFree;
  --used_;
  (landed ? free_.landed : free_.staged) |= std::uint32_t{1} << index;
}

// For a stream, which does not say when it has got there, or for bytes that do not either.
bool Receiver::waiting() const {
  const auto filled = [](const Slot& one) {
    return one.state == State::kFilled || one.state == State::kArriving;
  };
  return used_ > 0 &&
         std::any_of(slots_.begin(), slots_.end(), [&](const std::array<Slot, 32>& slots) {
           return std::any_of(slots.begin(), slots.end(), filled);
         });
}

std::optional<Receiver::Over> Receiver::take_over() {
  for (auto message = messages_.begin(); message != messages_.end();) {
    const bool given_up = closed_ && message->in_slots == 0 && message->left > 0;
    if (message->left > 0 && !given_up) {
      ++message;
      continue;
    }
    const Over over{message->to.op, message->ok && !given_up};
    spare_.splice(spare_.begin(), messages_, message++);
    if (over.op != kNoOp) return over;
  }
  return std::nullopt;
}

FreeSlots Receiver::take_free() {
  const FreeSlots free = free_;
  free_ = {};
  return free;
}

void Receiver::close() {
  closed_ = true;
  for (const bool landed : {false, true}) {
    for (unsigned i = 0; i < 32; ++i) {
      const State state = slot(landed, i).state;
      if (state == State::kFilled || state == State::kArriving) end_part(landed, i, false);
    }
  }
}

void Receiver::close_and_wait() {
  close();
  queues_.synchronize();
  copying_ = 0;
  for (const bool landed : {false, true}) {
    for (unsigned i = 0; i < 32; ++i) {
      if (slot(landed, i).state == State::kCopying) end_part(landed, i, false);
    }
  }
}

}  // namespace framewire::transport::peer
