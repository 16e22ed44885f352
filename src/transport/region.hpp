// What stands behind a Region: who owns the memory, which parts are in use.
#pragma once

#include <sched.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <framewire/transport/region.hpp>
#include <memory>
#include <vector>
#include "transport/device.hpp"

namespace framewire::transport {

/// Held for some tens of instructions, and mostly by one thread only: a mutex would cost more than
/// what it guards.
class SpinLock {
 public:
  void lock() noexcept {
    while (taken_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_ = false;
};

/// Parts of a region that transfers hold: written ones exclusively, read ones together. The first
/// hold keeps the region's block for all, so that the others need no reference of their own.
class Pins {
 public:
  /// @param length  may be 0: then only the block is kept
  /// @return false, and nothing held, where the part overlaps one that is written, or, if `write`,
  ///         any that is held
  [[nodiscard]] bool hold(std::uint64_t offset, std::uint64_t length, bool write,
                          const Region& owner = {});
  /// Undoes one hold() of the same arguments.
  /// @return the owner with the last one, to be let go of after the call
  Region release(std::uint64_t offset, std::uint64_t length, bool write) noexcept;
  [[nodiscard]] std::size_t count() const noexcept;
  /// What hold() was given; for those who hold a part.
  [[nodiscard]] const Region& owner() const noexcept { return owner_; }

 private:
  struct Part {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t holds;  ///< of just this part; 1 for written ones
  };
  using Parts = std::vector<Part>;
  [[nodiscard]] Parts::iterator first_ending_after(std::uint64_t offset);
  [[nodiscard]] bool add(std::uint64_t offset, std::uint64_t length, bool write);
  void remove(std::uint64_t offset, std::uint64_t length, bool write) noexcept;

  mutable SpinLock lock_;
  Parts written_;  ///< in order from first_ on; they do not overlap
  std::size_t first_ = 0;
  Parts read_;
  Region owner_;
  std::size_t holds_ = 0;
};

struct Region::Block {
  std::byte* base = nullptr;
  std::uint64_t bytes = 0;
  MemoryKind kind = MemoryKind::kHost;
  int device = -1;
  bool owned = false;
  DeviceMemory* devices = nullptr;
  std::uint64_t buffer_id = 0;
  Pins pins;
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();
};

}  // namespace framewire::transport
