#include "transport/transfer_table.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace framewire::transport {

TransferTable::TransferTable(std::uint32_t capacity) : slots_(capacity) {
  free_.reserve(capacity);
  for (std::uint32_t i = capacity; i > 0; --i) free_.push_back(i - 1);
}

Result<std::uint32_t> TransferTable::take(Role role, Direction direction,
                                          const TransferMemory& memory) {
  if (!memory.region.contains(memory.offset_bytes, memory.length_bytes)) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("{} bytes from {} on are not inside a region of {} bytes",
                            memory.length_bytes, memory.offset_bytes, memory.region.size()));
  }
  if (free_.empty()) {
    return fail(StatusCode::kBusy, fmt::format("all {} transfers of this channel are in use; fetch "
                                               "the results of those that are done",
                                               slots_.size()));
  }
  const std::uint32_t index = free_.back();
  TransferSlot& slot = slots_[index];
  slot.role = role;
  slot.direction = direction;
  if (memory.length_bytes > 0 &&
      !memory.region.block()->pins.hold(memory.offset_bytes, memory.length_bytes, slot.writes())) {
    return fail(StatusCode::kBusy,
                fmt::format("{} bytes from {} on belong to a transfer that has not settled",
                            memory.length_bytes, memory.offset_bytes));
  }
  free_.pop_back();
  ++slot.generation;
  slot.used = true;
  slot.done = slot.taken = slot.in_flight = slot.checksum = slot.early = false;
  slot.ended = Reason::kNone;
  slot.region = memory.region;
  slot.offset_bytes = memory.offset_bytes;
  slot.length_bytes = memory.length_bytes;
  slot.completion = {};
  slot.note_bytes = 0;
  slot.error.reset();
  return index;
}

void TransferTable::finish(std::uint32_t index, std::optional<Status> error) {
  TransferSlot& slot = slots_[index];
  slot.done = true;
  slot.error = std::move(error);
  if (!slot.in_flight) unpin(slot);
}

void TransferTable::settle(std::uint32_t index) {
  TransferSlot& slot = slots_[index];
  slot.in_flight = false;
  if (!slot.done) return;
  unpin(slot);
  if (slot.taken) give_back(index);
}

void TransferTable::fetch(std::uint32_t index) {
  TransferSlot& slot = slots_[index];
  slot.taken = true;
  if (!slot.in_flight) give_back(index);
}

TransferSlot* TransferTable::find(Transfer transfer) noexcept {
  if (transfer.index >= slots_.size()) return nullptr;
  TransferSlot& slot = slots_[transfer.index];
  const bool same = slot.used && !slot.taken && slot.generation == transfer.generation;
  return same ? &slot : nullptr;
}

std::uint32_t TransferTable::uncertain() const noexcept {
  return static_cast<std::uint32_t>(std::count_if(
      slots_.begin(), slots_.end(),
      [](const TransferSlot& slot) { return slot.used && slot.done && slot.in_flight; }));
}

void TransferTable::unpin(TransferSlot& slot) noexcept {
  if (slot.length_bytes > 0 && slot.region.block() != nullptr) {
    slot.region.block()->pins.release(slot.offset_bytes, slot.length_bytes, slot.writes());
  }
  slot.region = {};
  slot.device = {};
}

void TransferTable::give_back(std::uint32_t index) noexcept {
  slots_[index].used = false;
  free_.push_back(index);  // never grows: reserved for all
}

}  // namespace framewire::transport
