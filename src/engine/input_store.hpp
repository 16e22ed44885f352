// Host memory that inputs are read into and devices copy from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>

namespace framewire::engine {

/// One allocation, freed with its last owner.
using HostMemory = std::shared_ptr<std::uint8_t>;
/// @return busy where memory ran out; device_lost
using HostAllocator = std::function<Result<HostMemory>(std::size_t bytes)>;

/// Hands out blocks of pinned memory and keeps those that come back for the next who ask: pinning
/// takes a millisecond for some megabytes. Thread-safe.
class InputStore {
 public:
  /// @param allocate  pinned memory; empty: blocks are of ordinary memory
  explicit InputStore(HostAllocator allocate) : allocate_(std::move(allocate)) {}

  struct Block {
    HostMemory memory;
    std::size_t bytes = 0;  ///< that may be used; behind them are codec::kPinnedGuardBytes
  };
  /// @return at least `bytes`, with any contents; as the allocator
  [[nodiscard]] Result<Block> take(std::size_t bytes);
  void give_back(Block block) noexcept;

  /// Whether devices can copy these bytes from where they are.
  [[nodiscard]] bool has(std::span<const std::uint8_t> bytes) const;
  /// Held now, in use or not.
  [[nodiscard]] std::uint64_t pinned_bytes() const;

 private:
  [[nodiscard]] Result<Block> allocate(std::size_t bytes);
  void forget(const Block& block) noexcept;

  const HostAllocator allocate_;
  std::mutex mutex_;
  std::multimap<std::size_t, HostMemory> kept_;  ///< not in use, by size
  std::size_t kept_bytes_ = 0;

  mutable std::shared_mutex ranges_mutex_;
  std::map<const std::uint8_t*, std::size_t> ranges_;  ///< of pinned blocks, in use or not
};

}  // namespace framewire::engine
