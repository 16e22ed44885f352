// Puts and gets: what a channel asks of its peer, under leases that it has been granted.
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <transport/channel.hpp>
#include <transport/device_copy.hpp>

namespace framewire::transport::core {
namespace {

using std::chrono::milliseconds;

}  // namespace

Result<void> Channel::check_options(Role role, const TransferOptions& options) {
  if (options.stream && options.checksum) {
    return fail(StatusCode::kInvalidInput,
                "a checksum of bytes that a stream has yet to write; one or the other");
  }
  if (options.deadline_ms == 0) {
    return fail(StatusCode::kInvalidInput, "a transfer without a deadline; 1 ms or more");
  }
  if (options.note.size() > kMaxNoteBytes || (role != Role::kPut && !options.note.empty())) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a note of {} bytes; a put may bring up to {}, a get none",
                            options.note.size(), kMaxNoteBytes));
  }
  return {};
}

Result<std::uint32_t> Channel::begin(Role role, const Lease& lease, const TransferMemory& memory,
                                     const TransferOptions& options) {
  const bool is_plain = plain(memory.region, options.stream);
  if (!is_plain) {
    if (auto fit = usable(memory.region, options.stream); !fit) {
      return fail(std::move(fit.error()));
    }
  }
  if (options.stream || options.deadline_ms == 0 || !options.note.empty()) {
    if (auto good = check_options(role, options); !good) return fail(std::move(good.error()));
  }
  auto& place = requests_[next_request_ & (requests_.size() - 1)];
  if (place != 0) {
    return fail(StatusCode::kBusy,
                "a much older transfer has not ended; call take_result() for it first");
  }
  const auto index = table_.take(role, lease.direction, memory);
  if (!index) return fail(table_.refusal(memory));
  TransferSlot& slot = table_[*index];
  if (!is_plain) {
    if (auto used = use_device(slot, options.stream); !used) return drop(*index, used.error());
  }
  slot.lease = lease.id;
  slot.request = next_request_++;
  slot.checksum = options.checksum;
  slot.deadline = base::coarse_now() + milliseconds(options.deadline_ms);
  slot.completion = {options.offset_bytes, memory.length_bytes, options.checksum};
  next_deadline_ = std::min(next_deadline_, slot.deadline);
  place = *index + 1;
  outgoing_.epoch = lease.epoch;
  outgoing_.request = slot.request;
  outgoing_.lease = lease.id;
  outgoing_.offset_bytes = options.offset_bytes;
  outgoing_.length_bytes = memory.length_bytes;
  outgoing_.has_checksum = options.checksum;
  outgoing_.in_parts = false;
  outgoing_.checksum = 0;
  outgoing_.note_bytes = static_cast<std::uint8_t>(options.note.size());
  std::copy(options.note.begin(), options.note.end(), outgoing_.note.begin());
  return *index;
}

// Writes the records that wait, without taking them, into a short put's head.
// @return false where they do not fit
bool Channel::add_records(ShortPut& put) {
  if (records_.size() > 2) return false;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[i];
    if (record.kind == RecordKind::kGrant && (put.flags & ShortPut::kGrant) == 0 &&
        record.length_bytes <= ~std::uint32_t{0}) {
      put.flags |= ShortPut::kGrant;
      if (record.direction == Direction::kGet) put.flags |= ShortPut::kForGet;
      if (record.in_parts) put.flags |= ShortPut::kInParts;
      put.grant = record.id;
      put.grant_ms = record.number;
      put.grant_bytes = static_cast<std::uint32_t>(record.length_bytes);
    } else if (record.kind == RecordKind::kAck && record.reason == Reason::kNone &&
               put.ack_count == 0 && record.number <= 0xffff) {
      put.ack = record.id;
      put.ack_count = static_cast<std::uint16_t>(record.number);
    } else {
      return false;
    }
  }
  return true;
}

// Makes a put that the link can take at once. @return nothing where put_slowly() has to make it,
// which also tells errors.
std::optional<Transfer> Channel::put_short(const Lease& lease, const Region& region,
                                           std::uint64_t offset_bytes, std::uint64_t length_bytes,
                                           const TransferOptions& options) {
  if (lease.in_parts || length_bytes > kMaxShortBytes || length_bytes == 0 ||
      options.offset_bytes != 0 || options.checksum || !options.note.empty() ||
      options.deadline_ms == 0 || lease.epoch != config_.epoch || !plain(region, options.stream)) {
    return std::nullopt;
  }
  const TransferMemory memory{region, offset_bytes, length_bytes};
  auto& place = requests_[next_request_ & (requests_.size() - 1)];
  if (place != 0 || !table_.may_read(memory)) return std::nullopt;
  ShortPut head;
  head.epoch = lease.epoch;
  head.request = next_request_;
  head.lease = lease.id;
  if (!add_records(head) ||
      !link_->send_short(head, {region.block()->base + offset_bytes, length_bytes})) {
    return std::nullopt;
  }
  records_.clear();
  urgent_ = false;
  idle_rounds_ = 0;
  const std::uint32_t index = table_.take_copied(memory);
  TransferSlot& slot = table_[index];
  slot.lease = lease.id;
  slot.request = next_request_++;
  slot.deadline = base::coarse_now() + milliseconds(options.deadline_ms);
  slot.completion = {0, length_bytes, false};
  next_deadline_ = std::min(next_deadline_, slot.deadline);
  place = index + 1;
  return Transfer{index, slot.generation};
}

Result<Transfer> Channel::put(const Lease& lease, const Region& region, std::uint64_t offset_bytes,
                              std::uint64_t length_bytes, const TransferOptions& options) {
  if (const auto gone = put_short(lease, region, offset_bytes, length_bytes, options)) return *gone;
  return put_slowly(lease, {region, offset_bytes, length_bytes}, options);
}

Result<Transfer> Channel::put_slowly(const Lease& lease, const TransferMemory& memory,
                                     const TransferOptions& options) {
  const auto index = begin(Role::kPut, lease, memory, options);
  if (!index) return fail(index.error());
  Payload payload = payload_of(*index, 0, memory.length_bytes);
  payload.in_parts = lease.in_parts;
  outgoing_.kind = PacketKind::kPut;
  if (options.checksum) {
    const auto sum = checksum_of(memory.region, memory.offset_bytes, memory.length_bytes);
    if (!sum) {
      requests_[table_[*index].request & (requests_.size() - 1)] = 0;
      return drop(*index, sum.error());
    }
    outgoing_.checksum = *sum;
  }
  const Transfer transfer = name(*index);
  if (memory.length_bytes > 0) table_.begin_moving(*index);
  if (auto sent = send(outgoing_, payload); !sent) {
    table_.settle(*index);
    lose(sent.error());
  }
  return transfer;
}

Result<Transfer> Channel::get(const Lease& lease, const Region& region, std::uint64_t offset_bytes,
                              std::uint64_t length_bytes, const TransferOptions& options) {
  const auto index = begin(Role::kGet, lease, {region, offset_bytes, length_bytes}, options);
  if (!index) return fail(index.error());
  outgoing_.kind = PacketKind::kGet;
  outgoing_.in_parts = link_->in_parts(region.kind());
  const Transfer transfer = name(*index);
  if (auto sent = send(outgoing_); !sent) lose(sent.error());
  return transfer;
}

}  // namespace framewire::transport::core
