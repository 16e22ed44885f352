// Copies between device and host memory that block the calling thread.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <transport/region.hpp>

namespace framewire::transport {

/// Copies part of a region, of whatever kind, to host memory. Waits for the copy.
/// @return invalid_input outside the region; device_lost, busy
[[nodiscard]] Result<void> copy_out(const Region& region, std::uint64_t offset_bytes,
                                    std::span<std::byte> to);
/// Copies host memory to part of a region. As above.
[[nodiscard]] Result<void> copy_in(const Region& region, std::uint64_t offset_bytes,
                                   std::span<const std::byte> from);

/// Checksum of a part of a region. Device memory is copied to the host piece by piece; blocks.
/// @return device_lost, busy
[[nodiscard]] Result<std::uint64_t> checksum_of(const Region& region, std::uint64_t offset_bytes,
                                                std::uint64_t count);

}  // namespace framewire::transport
