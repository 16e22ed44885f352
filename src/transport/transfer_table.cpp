#include <fmt/format.h>
#include <algorithm>
#include <transport/transfer_table.hpp>
#include <utility>

namespace framewire::transport {

TransferTable::TransferTable(std::uint32_t capacity) : capacity_(capacity), slots_(capacity) {
  free_.reserve(capacity);
  for (std::uint32_t i = capacity; i > 0; --i) free_.push_back(i - 1);
}

Status TransferTable::refusal(const TransferMemory& memory) const {
  if (!memory.region.contains(memory.offset_bytes, memory.length_bytes)) {
    return {StatusCode::kInvalidInput,
            fmt::format("{} bytes from {} on are not inside a region of {} bytes",
                        memory.length_bytes, memory.offset_bytes, memory.region.size())};
  }
  if (free_.empty()) {
    return {StatusCode::kBusy, fmt::format("all {} transfers of this channel are in use; call "
                                           "take_result() for those that are done",
                                           slots_.size())};
  }
  return {StatusCode::kBusy,
          fmt::format("{} bytes from {} on belong to a transfer that has not settled",
                      memory.length_bytes, memory.offset_bytes)};
}

void TransferTable::set_result(std::uint32_t index, Status error) {
  slots_[index].error = std::move(error);
  set_result(index);
}

std::uint32_t TransferTable::uncertain() const noexcept {
  return static_cast<std::uint32_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const TransferSlot& slot) {
        return slot.state == TransferState::kUncertain || slot.state == TransferState::kAbandoned;
      }));
}

}  // namespace framewire::transport
