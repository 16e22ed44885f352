// Host memory that inputs are read into and devices copy from.
#pragma once

#include <base/cache_use.hpp>
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
/// Pins a caller's memory for as long as the result is held.
/// @return as gpu::PinnedRange::make()
using HostPinner = std::function<Result<std::shared_ptr<void>>(std::span<std::uint8_t> memory)>;

/// Hands out blocks of pinned memory, and keeps those that come back for later: pinning some
/// megabytes takes a millisecond. Also knows the memory that callers have registered.
/// Thread-safe.
class InputStore {
 public:
  /// @param allocate  pinned memory; empty: blocks are of ordinary memory
  /// @param pin       empty: devices, if there are any, do not copy from registered memory
  explicit InputStore(HostAllocator allocate, HostPinner pin = {})
      : allocate_(std::move(allocate)),
        pin_(std::move(pin)),
        use_{0, allocate_ ? kMaxPinnedBytes : kMaxOrdinaryBytes, 0, 0} {}

  struct Block {
    HostMemory memory;
    std::size_t bytes = 0;  ///< that may be used; behind them are codec::kPinnedGuardBytes
  };
  /// @return at least `bytes`, with any contents; as the allocator
  [[nodiscard]] Result<Block> take(std::size_t bytes);
  void give_back(Block block) noexcept;

  /// Makes memory of a caller's known, until forget_registered().
  /// @return invalid_input for no bytes, and where bytes of it are registered or a block's; as the
  ///         pinner; busy
  [[nodiscard]] Result<void> enter_registered(std::span<std::uint8_t> memory);
  /// @param memory  as entered
  void forget_registered(std::span<std::uint8_t> memory) noexcept;

  /// What is known of an input's bytes.
  struct Traits {
    bool pinned = false;   ///< devices can copy them from where they are (codec::BatchItem::pinned)
    bool changes = false;  ///< some are registered memory, to which others may write at any time
  };
  [[nodiscard]] Traits find(std::span<const std::uint8_t> bytes) const;
  /// Bytes of pinned memory, in use or not, registered memory included.
  [[nodiscard]] std::uint64_t pinned_bytes() const;
  /// What blocks that are kept for later take.
  [[nodiscard]] base::CacheUse use() const;

 private:
  enum class Kind : std::uint8_t {
    kPinnedBlock,
    kOrdinaryBlock,  ///< known only so that nobody registers it
    kRegistered,
  };
  struct Range {
    std::size_t bytes = 0;
    Kind kind = Kind::kPinnedBlock;
    std::shared_ptr<void> pin;  ///< of registered memory that is pinned
  };
  /// Ordered by where they begin; no two share a byte.
  using Ranges = std::map<const std::uint8_t*, Range>;

  [[nodiscard]] Result<Block> allocate(std::size_t bytes);
  [[nodiscard]] Block entered(Block block, Kind kind);
  [[nodiscard]] bool free_kept();
  [[nodiscard]] Result<std::shared_ptr<void>> pin_or_forget(std::span<std::uint8_t> memory);
  void forget(const Block& block) noexcept;
  /// The last range that begins before the end of `bytes`, or ranges_.end().
  [[nodiscard]] Ranges::const_iterator last_before_end(std::span<const std::uint8_t> bytes) const;

  const HostAllocator allocate_;
  const HostPinner pin_;
  /// A block that would exceed this is freed when it comes back. To free pinned memory waits for
  /// all work on the device (gpu/pinned_blocks.hpp), so more of it is kept.
  static constexpr std::uint64_t kMaxOrdinaryBytes = 256u << 20;
  static constexpr std::uint64_t kMaxPinnedBytes = 1u << 30;

  mutable std::mutex mutex_;
  std::multimap<std::size_t, HostMemory> kept_;  ///< not in use, by size
  base::CacheUse use_;

  mutable std::shared_mutex ranges_mutex_;
  Ranges ranges_;  ///< blocks, in use or not, and what is registered
};

}  // namespace framewire::engine
