// Device memory that two processes share for one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <transport/device.hpp>
#include <transport/peer/words.hpp>

namespace framewire::transport::peer {

/// Words a slot in which copies tell the receive buffer's device of their bytes.
inline constexpr unsigned kArrivalWords = 64;
/// Sizes of slots are multiples of this, so that the words behind the slots are aligned.
inline constexpr std::uint64_t kSlotStep = 256;
/// Version of how the blocks of a copy kernel divide a copy; it must be the same on both sides.
inline constexpr std::uint16_t kArrivalLayout = 1;

/// One side's receive buffer: slots that its peer pushes to. Nothing else ever lies there, and it
/// is never used for another connection. Revoking is letting go of it: a peer that still has it
/// mapped keeps the memory, and nothing of ours is ever put there.
struct ReceiveBuffer {
  std::unique_ptr<SharedMemory> memory;
  DeviceMemory* devices = nullptr;
  int owner = -1;  ///< device that it lies on, as this process counts
  int user = -1;   ///< device whose queue pushes, on the sender's side
  unsigned slots = 0;
  std::uint64_t slot_bytes = 0;
  unsigned arrival_words = 0;    ///< a slot, behind all of them; may be 0
  std::unique_ptr<Words> words;  ///< of whoever pushes, by slot; null where there are none
  [[nodiscard]] std::byte* slot(unsigned index) const {
    return memory->data() + index * slot_bytes;
  }
  [[nodiscard]] std::uint64_t* arrivals(unsigned index) const {
    return reinterpret_cast<std::uint64_t*>(slot(slots)) + index * arrival_words;
  }
  /// Bytes of all slots and their arrival words.
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(slots * (slot_bytes + arrival_words * sizeof(std::uint64_t)));
  }
};

}  // namespace framewire::transport::peer
