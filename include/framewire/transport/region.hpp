// Memory that transfers may read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/export.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <span>

namespace framewire::transport {

class DeviceMemory;  // the library's view of CUDA; opaque

enum class MemoryKind : std::uint8_t {
  kHost,
  kCuda,  ///< taken by some links only; others say unsupported when it is offered or sent
};

/// A block of memory known to the transport.
///
/// A value: copies share the block, which lives until the last copy and the last transfer in flight
/// are gone, whatever its user destroys earlier. It also keeps account of its parts in use: one
/// that a transfer writes belongs to that transfer alone until it has settled, parts that are read
/// may overlap. All members may be called from any thread; the bytes themselves are not guarded.
class FRAMEWIRE_API Region {
 public:
  /// No memory: size() is 0, and transfers of more than no bytes are invalid_input.
  Region() = default;

  /// Page-aligned, zeroed host memory that the region owns. All of it is touched before the return,
  /// so that no transfer waits for the system to find pages.
  /// @return busy where there is not as much; invalid_input for no bytes
  [[nodiscard]] static Result<Region> allocate_host(std::size_t bytes);
  /// The caller's memory, which must outlive every channel that has used it.
  /// @param bytes   where it is: host, or memory of the CUDA device `device`
  /// @param device  CUDA ordinal; -1 for host memory
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

  /// Where it begins, in the memory of kind(); null where it is empty.
  [[nodiscard]] std::byte* data() const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] MemoryKind kind() const noexcept;
  /// CUDA ordinal; -1 for host memory.
  [[nodiscard]] int device() const noexcept;
  /// Null for host memory.
  [[nodiscard]] DeviceMemory* devices() const noexcept;
  /// Whether the memory is still the allocation that the region was made of. An address of device
  /// memory that has been freed may come again.
  [[nodiscard]] bool unchanged() const;
  /// All of it; to be dereferenced by the CPU only where kind() is kHost.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {data(), static_cast<std::size_t>(size())};
  }
  /// Whether a transfer may still read or write any of it: also one whose result stands, such as a
  /// deadline, while its link has not let go of the memory.
  [[nodiscard]] bool in_use() const noexcept;
  /// Whether [offset, offset + length) lies inside.
  [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t length) const noexcept;

  /// What the transport knows of the block; opaque.
  struct FRAMEWIRE_LOCAL Block;
  [[nodiscard]] Block* block() const noexcept { return block_.get(); }

 private:
  std::shared_ptr<Block> block_;
};

}  // namespace framewire::transport
