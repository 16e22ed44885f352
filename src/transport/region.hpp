// The shared state of a Region: who owns the memory, and which parts are in use.
#pragma once

#include <sched.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <framewire/transport/region.hpp>
#include <memory>
#include <mutex>
#include <transport/device.hpp>
#include <transport/ring.hpp>
#include <utility>
#include <vector>

namespace framewire::transport {

/// A spin lock: it is held for some tens of instructions, and mostly by one thread only, so that a
/// mutex would cost more than what it guards.
class SpinLock {
 public:
  void lock() noexcept {
    while (taken_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_ = false;
};

/// The parts of a region that transfers hold. A part that is written has one holder, one that is
/// read may have several. The first hold keeps a reference to the region's block on behalf of all.
class Pins {
 public:
  /// @param length  may be 0: then only the block is kept
  /// @return false, and nothing held, where the part overlaps one that is written, or, if `write`,
  ///         any that is held
  [[nodiscard]] bool hold(std::uint64_t offset, std::uint64_t length, bool write,
                          const Region& owner = {}) {
    const Part part{offset, offset + length, 1};
    const std::lock_guard lock(lock_);
    const bool clear = read_.empty() && strays_.empty() && in_turn(part);
    if (length > 0 && clear && write) written_.push_back(part);
    if (length > 0 && clear && !write) read_.push_back(part);
    if (length > 0 && !clear && !add(part, write)) return false;
    if (write && length > 0) widen(part);
    if (holds_++ == 0) adopt(owner);
    return true;
  }
  /// Whether hold() would take the part for reading.
  [[nodiscard]] bool unwritten(std::uint64_t offset, std::uint64_t length) {
    const Part part{offset, offset + length, 1};
    // Outside of all that is written, as mostly: a lock would wait until what this thread has
    // written before has left its core.
    if (part.end <= lowest_.load(std::memory_order_relaxed) ||
        part.begin >= highest_.load(std::memory_order_relaxed)) {
      return true;
    }
    const std::lock_guard lock(lock_);
    return (strays_.empty() && in_turn(part)) || !overlaps_written(part);
  }
  /// Undoes one hold() of the same arguments. With the last one goes the owner, and this with it if
  /// nobody else has it.
  void release(std::uint64_t offset, std::uint64_t length, bool write) noexcept {
    lock_.lock();
    if (write && !written_.empty() && written_.front().begin == offset && length > 0) {
      written_.pop_front();
    } else if (length > 0) {
      remove({offset, offset + length, 1}, write);
    }
    if (--holds_ == 0) return let_go();
    lock_.unlock();
  }
  [[nodiscard]] std::size_t count() const noexcept;
  /// What hold() was given; for those who hold a part.
  [[nodiscard]] const Region& owner() const noexcept { return owner_; }

 private:
  struct Part {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t holds = 0;  ///< of just this part; 1 for written ones
    [[nodiscard]] bool same(const Part& other) const noexcept {
      return begin == other.begin && end == other.end;
    }
    [[nodiscard]] bool overlaps(const Part& other) const noexcept {
      return begin < other.end && other.begin < end;
    }
  };
  /// Whether the part may follow those in `written_`, which are in order but for one step back.
  [[nodiscard]] bool in_turn(const Part& part) noexcept {
    if (written_.empty()) return true;
    const std::uint64_t first = written_.front().begin;
    const Part& last = written_.back();
    const bool above = part.begin >= last.end;
    const bool below = part.end <= first;
    return first > last.begin ? above && below : above || below;
  }
  // Out of line, to keep the others short.
  void adopt(const Region& owner);
  void let_go() noexcept;
  void widen(const Part& part) noexcept {
    if (part.begin < lowest_.load(std::memory_order_relaxed)) {
      lowest_.store(part.begin, std::memory_order_relaxed);
    }
    if (part.end > highest_.load(std::memory_order_relaxed)) {
      highest_.store(part.end, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] bool overlaps_written(const Part& part);
  [[nodiscard]] bool add(const Part& part, bool write);
  void remove(const Part& part, bool write) noexcept;

  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  mutable SpinLock lock_;
  std::atomic<std::uint64_t> lowest_ = kNowhere;  ///< no part that is written begins before
  std::atomic<std::uint64_t> highest_ = 0;        ///< or ends behind
  Ring<Part> written_;        ///< slots are mostly offered by turns, and used up so
  std::vector<Part> strays_;  ///< written ones, too, that came out of turn; in order
  std::vector<Part> read_;
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
