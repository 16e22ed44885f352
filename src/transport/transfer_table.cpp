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
  Region::Block* const block = memory.region.block();
  const std::uint64_t size = block != nullptr ? block->bytes : 0;
  const bool inside =
      memory.offset_bytes <= size && memory.length_bytes <= size - memory.offset_bytes;
  if (!inside || free_.empty()) return refuse(memory);
  const std::uint32_t index = free_.back();
  TransferSlot& slot = slots_[index];
  slot.role = role;
  slot.direction = direction;
  if (block != nullptr &&
      !block->pins.hold(memory.offset_bytes, memory.length_bytes, slot.writes(), memory.region)) {
    return fail(StatusCode::kBusy,
                fmt::format("{} bytes from {} on belong to a transfer that has not settled",
                            memory.length_bytes, memory.offset_bytes));
  }
  free_.pop_back();
  ++slot.generation;
  slot.used = true;
  slot.done = slot.taken = slot.in_flight = slot.checksum = slot.early = false;
  slot.ended = Reason::kNone;
  slot.block = block;
  slot.offset_bytes = memory.offset_bytes;
  slot.length_bytes = memory.length_bytes;
  slot.completion = {};
  slot.note_bytes = 0;
  if (slot.error) slot.error.reset();
  return index;
}

tl::unexpected<Status> TransferTable::refuse(const TransferMemory& memory) const {
  if (!memory.region.contains(memory.offset_bytes, memory.length_bytes)) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("{} bytes from {} on are not inside a region of {} bytes",
                            memory.length_bytes, memory.offset_bytes, memory.region.size()));
  }
  return fail(StatusCode::kBusy, fmt::format("all {} transfers of this channel are in use; fetch "
                                             "the results of those that are done",
                                             slots_.size()));
}

void TransferTable::finish(std::uint32_t index, Status error) {
  slots_[index].error = std::move(error);
  finish(index);
}

std::uint32_t TransferTable::uncertain() const noexcept {
  return static_cast<std::uint32_t>(std::count_if(
      slots_.begin(), slots_.end(),
      [](const TransferSlot& slot) { return slot.used && slot.done && slot.in_flight; }));
}

void TransferTable::unpin(TransferSlot& slot) noexcept {
  if (slot.block != nullptr) {
    std::exchange(slot.block, nullptr)
        ->pins.release(slot.offset_bytes, slot.length_bytes, slot.writes());
  }
  if (slot.device.devices != nullptr) slot.device = {};
}

}  // namespace framewire::transport
