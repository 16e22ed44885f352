#include <algorithm>
#include <cstring>
#include <transport/peer/sender.hpp>

namespace framewire::transport::peer {

Sender::Sender(Link& inner, LinkOp first_op, ReceiveBuffer* theirs)
    : inner_(inner), first_op_(first_op), theirs_(theirs) {}

// Whether the device itself can write to where the payload goes.
bool Sender::lands(const Payload& payload) const {
  return theirs_ != nullptr && payload.in_parts && payload.device != nullptr &&
         payload.device->devices == theirs_->devices && payload.device->device == theirs_->user;
}

// Parts that fill their slots keep the link busy. A message of few parts arrives sooner in smaller
// ones, since the receiver moves one part while the next is pushed.
std::uint64_t Sender::landed_part_bytes(std::uint64_t total) const {
  const std::uint64_t slot = theirs_->slot_bytes;
  return total < 4 * slot ? std::max(slot / 2, kMinPartBytes) : slot;
}

// Whether a message waits for a stream, which does not tell when it has got there.
bool Sender::waiting() const {
  return std::any_of(messages_.begin(), messages_.end(), [](const Message& message) {
    return message.given == 0 && message.payload.device != nullptr &&
           message.payload.device->after != nullptr;
  });
}

void Sender::add(std::span<const std::byte> head, const Payload& payload) {
  if (spare_.empty()) spare_.emplace_back();
  messages_.splice(messages_.end(), spare_, spare_.begin());
  Message& message = messages_.back();
  std::memcpy(message.head.data(), head.data(), head.size());
  message.head_bytes = head.size();
  message.payload = payload;
  message.number = next_number_++;
  message.landed = lands(payload);
  message.part_bytes = message.landed ? landed_part_bytes(payload.bytes) : kStagedPartBytes;
  message.given = message.over = 0;
  message.ok = true;
}

std::optional<unsigned> Sender::free_slot(bool landed) const {
  const auto& slots = slots_[landed ? 1 : 0];
  const unsigned count = landed ? theirs_->slots : kSlots;
  for (unsigned i = 0; i < count; ++i) {
    if (slots[i].free()) return i;
  }
  return std::nullopt;
}

Result<bool> Sender::pump() {
  auto moved = look_at(false);
  if (moved && theirs_ != nullptr) {
    const auto more = look_at(true);
    moved = more ? Result<bool>(*moved || *more) : more;
  }
  if (!moved || closed_) return moved;
  for (Message& message : messages_) {
    const DeviceUse* use = message.payload.device;
    if (message.given == message.payload.bytes || (use != nullptr && !use->ready())) continue;
    while (message.given < message.payload.bytes) {
      const auto slot = free_slot(message.landed);
      if (!slot) break;
      if (auto begun = begin_part(message, *slot); !begun) {
        read(slots_[message.landed ? 1 : 0][*slot], false);
        return fail(begun.error());
      }
      moved = true;
    }
  }
  return moved;
}

Result<void> Sender::begin_part(Message& message, unsigned index) {
  Slot& slot = slots_[message.landed ? 1 : 0][index];
  slot.head.landed = message.landed;
  slot.head.told = false;
  slot.head.slot = static_cast<std::uint8_t>(index);
  slot.head.message = message.number;
  slot.head.total = message.payload.bytes;
  slot.head.offset = message.given;
  slot.head.part_bytes = message.part_bytes;
  slot.head.bytes = std::min(message.part_bytes, message.payload.bytes - message.given);
  slot.message = &message;
  message.given += slot.head.bytes;
  if (message.payload.device != nullptr) return enqueue(message, index);
  return dispatch(index, false, message.payload.data + slot.head.offset);
}

// Where the link reads device memory, a copy stays on the device: what a card is shown is memory of
// this connection's own, not the user's.
Result<std::byte*> Sender::stage(Slot& slot, const DeviceUse& use) {
  const bool direct = inner_.reaches(use);
  auto memory = direct ? slot.card.get(*use.devices, use.device, kStagedPartBytes)
                       : slot.pinned.get(*use.devices, kStagedPartBytes);
  slot.on_card = direct ? &slot.card.use() : nullptr;
  if (memory) slot.staged = *memory;
  return memory;
}

// Device memory goes to such a slot or to pinned memory first, or straight to the peer's receive
// buffer.
Result<void> Sender::enqueue(Message& message, unsigned index) {
  Slot& slot = slots_[message.landed ? 1 : 0][index];
  const DeviceUse& use = *message.payload.device;
  const auto queue = queues_.of(*use.devices, use.device);
  if (!queue) return fail(queue.error());
  std::byte* to = nullptr;
  if (message.landed) {
    to = theirs_->slot(index);
  } else {
    const auto staged = stage(slot, use);
    if (!staged) return fail(staged.error());
    to = *staged;
  }
  const bool within = message.landed || slot.on_card != nullptr;
  Tell tell;
  if (message.landed && theirs_->words) {
    tell.word = theirs_->words->device_word(index);
    tell.arrivals = theirs_->arrivals(index);
    tell.max_arrivals = theirs_->arrival_words;
  }
  const auto ticket =
      (*queue)->copy_and_tell(to, message.payload.data + slot.head.offset, slot.head.bytes,
                              within ? Sides::kWithinReach : Sides::kAny, tell);
  if (!ticket) return fail(ticket.error());
  slot.queue = *queue;
  slot.ticket = *ticket;
  ++copying_;
  if (message.landed) pushed_bytes_ += slot.head.bytes;
  if (!within) staged_bytes_ += slot.head.bytes;
  slot.head.number = static_cast<std::uint32_t>(tell.number);
  if (slot.head.number == 0) return {};  // which a word holds, too, that nothing has told yet
  // The receiver learns of the bytes from their copy; of the message while they are on their way.
  slot.head.arrivals = static_cast<std::uint8_t>(tell.arrival_count);
  slot.head.told = true;
  return dispatch(index, true, nullptr);
}

Result<void> Sender::dispatch(unsigned index, bool landed, const std::byte* payload) {
  Slot& slot = slots_[landed ? 1 : 0][index];
  const Message& message = *slot.message;
  HeadBuffer head;
  const std::size_t bytes =
      encode(slot.head, std::span(message.head).first(message.head_bytes), head);
  slot.with_peer = true;
  slot.with_inner = payload != nullptr;
  Payload part;
  if (payload != nullptr) {
    part.data = payload;
    part.bytes = slot.head.bytes;
    part.op = first_op_ + index;
    part.device = message.payload.device != nullptr ? slot.on_card : nullptr;
    part.in_parts = message.payload.in_parts;
  }
  auto sent = inner_.carry(std::span(head).first(bytes), part);
  if (!sent) slot.with_inner = false;
  return sent;
}

// Ends the reading of a slot's part of its message.
void Sender::read(Slot& slot, bool ok) {
  if (slot.message == nullptr) return;
  slot.message->over += slot.head.bytes;
  slot.message->ok = slot.message->ok && ok;
  slot.message = nullptr;
}

// Sends the parts that have been copied.
Result<bool> Sender::look_at(bool landed) {
  bool moved = false;
  CopyQueue* asked = nullptr;  // once a round: asking costs a microsecond
  Result<Ticket> completed = Ticket{0};
  auto& slots = slots_[landed ? 1 : 0];
  const unsigned count = landed ? theirs_->slots : kSlots;
  for (unsigned i = 0; i < count && copying_ > 0; ++i) {
    Slot& slot = slots[i];
    if (slot.queue == nullptr) continue;
    if (slot.queue != asked) {
      asked = slot.queue;
      completed = asked->completed();
    }
    if (completed && *completed < slot.ticket) continue;
    slot.queue = nullptr;
    --copying_;
    moved = true;
    Result<void> sent;
    if (!completed) {
      sent = fail(completed.error());
    } else if (!closed_ && !slot.head.told) {
      sent = dispatch(i, landed, slot.staged);
    }
    read(slot, sent.has_value() && !closed_);
    if (!sent) return fail(sent.error());
  }
  return moved;
}

std::optional<Sender::Over> Sender::take_over() {
  for (auto message = messages_.begin(); message != messages_.end(); ++message) {
    const bool given_up = closed_ && message->over == message->given;
    if (message->over < message->payload.bytes && !given_up) continue;
    const Over over{message->payload.op, message->ok && !given_up};
    spare_.splice(spare_.begin(), messages_, message);
    return over;
  }
  return std::nullopt;
}

void Sender::on_sent(unsigned index, bool ok) {
  Slot& slot = slots_[0][index];
  slot.with_inner = false;
  read(slot, ok);  // of host memory; a device's has been read before
}

Result<void> Sender::on_free(const FreeSlots& free) {
  for (const bool landed : {false, true}) {
    const std::uint32_t mask = landed ? free.landed : free.staged;
    for (unsigned i = 0; i < 32; ++i) {
      if ((mask >> i & 1) == 0) continue;
      Slot& slot = slots_[landed ? 1 : 0][i];
      if (!slot.with_peer) {
        return fail(StatusCode::kInvalidInput, "the peer frees a slot that is free");
      }
      slot.with_peer = false;
    }
  }
  return {};
}

void Sender::close() { closed_ = true; }

void Sender::close_and_wait() {
  close();
  queues_.synchronize();
  for (auto& slots : slots_) {
    for (Slot& slot : slots) {
      slot.queue = nullptr;
      read(slot, false);
    }
  }
  copying_ = 0;
}

}  // namespace framewire::transport::peer
