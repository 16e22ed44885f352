// Memory that transfers read and write: who owns it, which parts are in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <vector>
#include "transport/device.hpp"

namespace framewire::transport {

enum class MemoryKind : std::uint8_t {
  kHost,
  kCuda,  ///< a link says for itself whether it takes it: Link::takes()
};

/// Parts of a region that transfers hold: written ones exclusively, read ones together.
class Pins {
 public:
  /// @return false, and nothing held, where the part overlaps one that is written, or, if `write`,
  ///         any that is held
  [[nodiscard]] bool hold(std::uint64_t offset, std::uint64_t length, bool write);
  /// Undoes one hold() of the same arguments.
  void release(std::uint64_t offset, std::uint64_t length, bool write) noexcept;
  [[nodiscard]] std::size_t count() const noexcept;

 private:
  struct Part {
    std::uint64_t begin;
    std::uint64_t end;
    bool write;
  };
  mutable std::mutex mutex_;
  std::vector<Part> parts_;
};

/// A block of memory known to the transport. Copies share it: it lives until the last copy and the
/// last transfer in flight are gone, whatever its user destroys earlier. Thread-safe.
class Region {
 public:
  Region() = default;

  /// Page-aligned, zeroed host memory.
  /// @return busy where there is not as much; invalid_input for no bytes
  [[nodiscard]] static Result<Region> allocate_host(std::size_t bytes);
  /// The caller's memory, which must outlive every channel that has used it.
  [[nodiscard]] static Region view(std::span<std::byte> bytes, MemoryKind kind = MemoryKind::kHost,
                                   int device = -1);

  /// Zeroed memory of a device, which must outlive the region.
  /// @return busy where there is not as much; invalid_input for no bytes or no such device
  [[nodiscard]] static Result<Region> allocate_device(DeviceMemory& devices, int device,
                                                      std::size_t bytes);
  /// The caller's device memory, which must outlive every channel that has used it.
  /// @return invalid_input for memory that is none of the device's
  [[nodiscard]] static Result<Region> view_device(DeviceMemory& devices, int device,
                                                  std::span<std::byte> bytes);

  [[nodiscard]] std::byte* data() const noexcept { return block_ ? block_->base : nullptr; }
  [[nodiscard]] std::uint64_t size() const noexcept { return block_ ? block_->bytes : 0; }
  [[nodiscard]] MemoryKind kind() const noexcept {
    return block_ ? block_->kind : MemoryKind::kHost;
  }
  /// CUDA ordinal; -1 for host memory.
  [[nodiscard]] int device() const noexcept { return block_ ? block_->device : -1; }
  /// Null for host memory.
  [[nodiscard]] DeviceMemory* devices() const noexcept {
    return block_ ? block_->devices : nullptr;
  }
  /// Whether the memory is still the allocation that the region was made of. An address of device
  /// memory that has been freed may come again.
  [[nodiscard]] bool unchanged() const;
  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {data(), static_cast<std::size_t>(size())};
  }
  /// Whether [offset, offset + length) lies inside.
  [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t length) const noexcept;
  [[nodiscard]] Pins* pins() const noexcept { return block_ ? &block_->pins : nullptr; }

 private:
  struct Block {
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
  std::shared_ptr<Block> block_;
};

}  // namespace framewire::transport
