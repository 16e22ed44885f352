// What a channel does with what the peer sends: nothing of it is trusted.
#include <fmt/format.h>
#include <algorithm>
#include <base/no_memory.hpp>
#include <chrono>
#include <cstring>
#include <transport/channel.hpp>
#include <transport/device_copy.hpp>

namespace framewire::transport::core {
namespace {

using std::chrono::milliseconds;

}  // namespace

Placement Channel::on_packet(std::span<const std::byte> head, std::uint64_t payload_bytes) {
  if (lost_) return {};
  if (!read(head, incoming_)) {
    const auto decoded = decode(head, incoming_);
    lose({StatusCode::kInvalidInput,
          fmt::format("{} broke the protocol: {}", config_.peer, decoded.error().message())});
    return {};
  }
  // A request under a stale lease brings that lease's epoch; its records would belong there too.
  const bool current = incoming_.epoch == config_.epoch;
  for (std::size_t i = 0; current && i < incoming_.record_count && !lost_; ++i) {
    on_record(incoming_.records[i]);
  }
  if (lost_) return {};
  switch (incoming_.kind) {
    case PacketKind::kPut:
      return on_put(incoming_, payload_bytes);
    case PacketKind::kGet:
      on_get(incoming_);
      return {};
    case PacketKind::kServe:
      return on_serve(incoming_, payload_bytes);
    case PacketKind::kNotice:
      break;
    case PacketKind::kClose:
      if (current) lose({StatusCode::kPeerLost, config_.peer + " closed the channel"});
      break;
  }
  return {};
}

bool Channel::first_seen(std::uint64_t request) {
  auto& newest = seen_[request & (seen_.size() - 1)];
  if (request <= newest) {
    ++stats_.duplicates;
    return false;
  }
  newest = request;
  return true;
}

Reason Channel::check_request(const Request& request, Direction direction) {
  if (request.epoch != config_.epoch) return Reason::kOldEpoch;
  const std::uint32_t index = lease_index(request.lease);
  if (index >= table_.capacity()) return Reason::kUnknownLease;
  TransferSlot& slot = table_[index];
  if (lease_generation(request.lease) != slot.generation || slot.role != Role::kOffer) {
    return Reason::kUnknownLease;
  }
  if (slot.ended != Reason::kNone) return slot.ended;
  if (!slot.open_offer()) return Reason::kUsed;
  if (slot.deadline <= now()) return Reason::kExpired;
  if (slot.direction != direction) return Reason::kWrongDirection;
  if (request.offset_bytes > slot.length_bytes ||
      request.length_bytes > slot.length_bytes - request.offset_bytes) {
    return Reason::kOutOfBounds;
  }
  return Reason::kNone;
}

void Channel::on_short(const ShortPut& put, std::span<const std::byte> payload) {
  if (lost_) return;
  if (put.epoch == config_.epoch) {
    if (put.ack_count != 0) {
      Record ack;
      ack.number = put.ack_count;
      ack.id = put.ack;
      on_ack(ack);
    }
    if ((put.flags & ShortPut::kGrant) != 0) {
      Record grant;
      grant.kind = RecordKind::kGrant;
      grant.direction = (put.flags & ShortPut::kForGet) != 0 ? Direction::kGet : Direction::kPut;
      grant.in_parts = (put.flags & ShortPut::kInParts) != 0;
      grant.number = put.grant_ms;
      grant.id = put.grant;
      grant.length_bytes = put.grant_bytes;
      on_grant(grant);
    }
  }
  if (!first_seen(put.request)) return;
  const Reason reason = check_request({put.epoch, put.lease, 0, payload.size()}, Direction::kPut);
  if (reason != Reason::kNone) {
    ++stats_.refused;
    acknowledge(put.request, reason);
    return;
  }
  const std::uint32_t index = lease_index(put.lease);
  TransferSlot& slot = table_[index];
  if (slot.device.devices != nullptr) {
    lose({StatusCode::kInvalidInput, config_.peer + " sends whole what it must send in parts"});
    return;
  }
  slot.ended = Reason::kUsed;
  --open_offers_[static_cast<std::size_t>(Direction::kPut)];
  slot.completion = {0, payload.size(), false};
  if (!payload.empty()) std::memcpy(slot.memory(), payload.data(), payload.size());
  acknowledge(put.request, Reason::kNone);
  table_.set_result(index);
}

Placement Channel::on_put(const Packet& packet, std::uint64_t payload_bytes) {
  if (!first_seen(packet.request)) return {};
  Reason reason = check_request(
      {packet.epoch, packet.lease, packet.offset_bytes, packet.length_bytes}, Direction::kPut);
  if (reason == Reason::kNone && packet.length_bytes != payload_bytes) {
    reason = Reason::kOutOfBounds;
  }
  if (reason != Reason::kNone) {
    ++stats_.refused;
    acknowledge(packet.request, reason);
    return {};
  }
  const std::uint32_t index = lease_index(packet.lease);
  TransferSlot& slot = table_[index];
  slot.request = packet.request;
  slot.ended = Reason::kUsed;
  --open_offers_[static_cast<std::size_t>(slot.direction)];
  slot.completion = {packet.offset_bytes, packet.length_bytes, packet.has_checksum};
  slot.checksum = packet.has_checksum;
  slot.expected_checksum = packet.checksum;
  slot.note_bytes = packet.note_bytes;
  std::copy_n(packet.note.begin(), packet.note_bytes, slot.note.begin());
  if (payload_bytes == 0) {
    received_all(index);
    return {};
  }
  table_.begin_moving(index);
  slot.deadline = now() + milliseconds(slot.work_ms);
  next_deadline_ = std::min(next_deadline_, slot.deadline);
  return destination(index, packet.offset_bytes);
}

void Channel::on_get(const Packet& packet) {
  if (!first_seen(packet.request)) return;
  const Reason reason = check_request(
      {packet.epoch, packet.lease, packet.offset_bytes, packet.length_bytes}, Direction::kGet);
  if (reason != Reason::kNone) {
    ++stats_.refused;
    acknowledge(packet.request, reason);
    return;
  }
  const std::uint32_t index = lease_index(packet.lease);
  TransferSlot& slot = table_[index];
  slot.request = packet.request;
  slot.ended = Reason::kUsed;
  --open_offers_[static_cast<std::size_t>(slot.direction)];
  slot.completion = {packet.offset_bytes, packet.length_bytes, packet.has_checksum};
  if (packet.length_bytes > 0) table_.begin_moving(index);
  slot.deadline = now() + milliseconds(slot.work_ms);
  next_deadline_ = std::min(next_deadline_, slot.deadline);
  // The link waits for the owner's stream before it reads; a checksum has to do so here.
  if (packet.has_checksum && slot.moving() && !slot.device.ready()) {
    unserved_.push_back({index, packet.in_parts});
  } else {
    serve(index, packet.in_parts);
  }
}

void Channel::serve(std::uint32_t index, bool in_parts) {
  TransferSlot& slot = table_[index];
  Packet& answer = outgoing_;
  answer.kind = PacketKind::kServe;
  answer.note_bytes = 0;
  answer.epoch = config_.epoch;
  answer.request = slot.request;
  answer.lease = slot.lease;
  answer.offset_bytes = slot.completion.offset_bytes;
  answer.length_bytes = slot.completion.length_bytes;
  answer.has_checksum = slot.completion.verified;
  answer.in_parts = false;
  answer.checksum = 0;
  if (answer.has_checksum) {
    const auto sum =
        checksum_of(slot.region(), slot.offset_bytes + answer.offset_bytes, answer.length_bytes);
    if (!sum) {
      acknowledge(slot.request, Reason::kCancelled);
      table_.set_result(index, sum.error());
      table_.settle(index);
      return;
    }
    answer.checksum = *sum;
  }
  Payload payload = payload_of(index, answer.offset_bytes, answer.length_bytes);
  payload.in_parts = in_parts;
  const bool empty = answer.length_bytes == 0;
  if (auto sent = send(answer, payload); !sent) {
    table_.settle(index);
    lose(sent.error());
  } else if (empty) {
    table_.set_result(index);
  }
}

// Serves gets whose stream has got there. Nothing else touches their memory meanwhile.
bool Channel::serve_waiting() {
  bool moved = false;
  for (std::size_t i = 0; i < unserved_.size() && !lost_;) {
    const auto [index, in_parts] = unserved_[i];
    if (!table_[index].device.ready()) {
      ++i;
      continue;
    }
    unserved_.erase(unserved_.begin() + static_cast<std::ptrdiff_t>(i));
    serve(index, in_parts);
    moved = true;
  }
  return moved;
}

Placement Channel::on_serve(const Packet& packet, std::uint64_t payload_bytes) {
  auto& place = requests_[packet.request & (requests_.size() - 1)];
  TransferSlot* slot = place == 0 ? nullptr : &table_[place - 1];
  if (packet.epoch != config_.epoch || slot == nullptr || slot->request != packet.request ||
      slot->role != Role::kGet || slot->state != TransferState::kOpen ||
      payload_bytes != slot->length_bytes) {
    ++stats_.strays;
    return {};
  }
  const std::uint32_t index = place - 1;
  // A peer that leaves the checksum out where one was asked for fails the comparison.
  slot->expected_checksum = packet.checksum;
  if (slot->checksum && !packet.has_checksum) slot->expected_checksum = ~packet.checksum;
  place = 0;
  if (payload_bytes == 0) {
    received_all(index);
    return {};
  }
  table_.begin_moving(index);
  return destination(index, 0);
}

// From here on the user's stream waits for the bytes by itself: the transfer is done for the user.
void Channel::on_enqueued(LinkOp op) {
  TransferSlot& slot = table_[op];
  if (slot.done() || slot.checksum || !slot.device.stream) return;
  slot.early = true;
  table_.set_result(op);
}

/// Of an operation that the link reports as not ok, be it only while it is being closed.
Status Channel::why_given_up() const noexcept {
  return lost_ ? base::copy_of(*lost_) : base::status_of(StatusCode::kPeerLost, "the link gave up");
}

void Channel::on_received(LinkOp op, bool ok) {
  TransferSlot& slot = table_[op];
  if (slot.early && slot.role == Role::kOffer && !lost_) {
    acknowledge(slot.request, ok ? Reason::kNone : Reason::kCancelled);
  }
  if (!slot.done() && !ok) table_.set_result(op, why_given_up());
  const bool ended = slot.done();
  table_.settle(op);
  if (!ended) received_all(op);
}

// All bytes are in place: compares the checksum, acknowledges to the sender, ends the transfer.
void Channel::received_all(std::uint32_t index) {
  TransferSlot& slot = table_[index];
  bool intact = true;
  if (slot.checksum) {
    const std::uint64_t offset =
        slot.offset_bytes + (slot.role == Role::kOffer ? slot.completion.offset_bytes : 0);
    const auto sum = checksum_of(slot.region(), offset, slot.completion.length_bytes);
    intact = sum && *sum == slot.expected_checksum;
  }
  const Reason reason = intact ? Reason::kNone : Reason::kChecksum;
  if (slot.role == Role::kOffer) acknowledge(slot.request, reason);
  if (intact) {
    table_.set_result(index);
  } else {
    table_.set_result(index, to_status(reason, slot.lease));
  }
}

void Channel::on_sent(LinkOp op, bool ok) {
  TransferSlot& slot = table_[op];
  table_.settle(op);
  if (!slot.under_way()) return;
  if (slot.role != Role::kOffer) return;  // a put is done when the peer has confirmed it
  if (ok) {
    table_.set_result(op);
  } else {
    table_.set_result(op, why_given_up());
  }
}

void Channel::on_record(const Record& record) {
  switch (record.kind) {
    case RecordKind::kGrant:
      on_grant(record);
      break;
    case RecordKind::kAck:
      on_ack(record);
      break;
    case RecordKind::kWithdraw:
      for (auto& leases : leases_) {
        leases.erase_if([&](const Lease& lease) { return lease.id == record.id; });
      }
      break;
  }
}

void Channel::on_grant(const Record& record) {
  const std::uint32_t index = lease_index(record.id);
  const std::uint64_t generation = lease_generation(record.id);
  if (index >= granted_.size() || generation <= granted_[index]) {
    ++stats_.duplicates;
    return;
  }
  // The slot's earlier lease, if it was never taken, ended when the peer used the slot again.
  const std::uint64_t before = granted_[index];
  granted_[index] = generation;
  auto& leases = leases_[static_cast<std::size_t>(record.direction)];
  if (leases.size() >= granted_.size()) {
    leases.erase_if([&](const Lease& old) { return old.id == (before << 16 | index); });
    if (leases.size() >= granted_.size()) leases.pop_front();
  }
  const auto expiry = now() + milliseconds(record.number);
  auto& first = first_expiry_[static_cast<std::size_t>(record.direction)];
  first = std::min(first, expiry);
  leases.push_back(
      {record.id, config_.epoch, record.direction, record.length_bytes, record.in_parts, expiry});
}

void Channel::on_ack(const Record& record) {
  const std::uint64_t count = std::min<std::uint64_t>(record.number, requests_.size());
  for (std::uint64_t request = record.id; request != record.id + count; ++request) {
    auto& place = requests_[request & (requests_.size() - 1)];
    if (place == 0) continue;
    TransferSlot& slot = table_[place - 1];
    // A get is done when its bytes are here; only a refusal of it comes as an acknowledgement.
    const bool refusal = record.reason != Reason::kNone;
    if (slot.request != request || (slot.role == Role::kGet && !refusal)) {
      ++stats_.strays;
      continue;
    }
    const std::uint32_t index = place - 1;
    place = 0;
    if (refusal) {
      table_.set_result(index, to_status(record.reason, slot.lease));
    } else {
      table_.set_result(index);
    }
  }
}

void Channel::acknowledge(std::uint64_t request, Reason reason) {
  if (reason == Reason::kNone && !records_.empty()) {
    Record& last = records_.back();
    if (last.kind == RecordKind::kAck && last.reason == Reason::kNone &&
        last.id + last.number == request) {
      ++last.number;
      return;
    }
  }
  Record ack;
  ack.kind = RecordKind::kAck;
  ack.reason = reason;
  ack.number = 1;
  ack.id = request;
  post(ack);
}

void Channel::flooded() {
  lose({StatusCode::kDenied, config_.peer + " sends requests without reading the answers"});
}

void Channel::post(const Record& record, bool urgent) {
  // An honest peer's requests are bounded by its credits; one that floods while not reading is not.
  if (records_.size() >= std::size_t{4} * (config_.capacity + config_.peer_capacity)) {
    return flooded();
  }
  records_.push_back(record);
  urgent_ = urgent_ || urgent;
}

Result<void> Channel::send(Packet& packet, const Payload& payload) {
  packet.record_count = 0;
  // Records ride along, but not in another epoch's packet, nor with a payload that may be long in
  // coming.
  const bool prompt = payload.device == nullptr && !payload.in_parts;
  while (prompt && packet.epoch == config_.epoch && !records_.empty() &&
         packet.record_count < kMaxRecords) {
    packet.records[packet.record_count++] = records_.front();
    records_.pop_front();
  }
  if (records_.empty()) {
    urgent_ = false;
    idle_rounds_ = 0;
  }
  std::array<std::byte, kMaxPacketHead> head;
  const std::size_t bytes = encode(packet, head);
  return link_->carry(std::span(head).first(bytes), payload);
}

void Channel::flush_records() {
  while (!records_.empty() && !lost_ && link_->ready()) {
    Packet& packet = outgoing_;
    packet.kind = PacketKind::kNotice;
    packet.note_bytes = 0;
    packet.epoch = config_.epoch;
    packet.request = packet.lease = packet.offset_bytes = packet.length_bytes = 0;
    packet.has_checksum = packet.in_parts = false;
    packet.checksum = 0;
    if (auto sent = send(packet); !sent) lose(sent.error());
  }
}

}  // namespace framewire::transport::core
