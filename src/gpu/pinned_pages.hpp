// Host memory of the process's own that is pinned after it is there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire::gpu {

/// From here on pages of the process's own are worth it.
inline constexpr std::size_t kMinPinnedPages = 1 << 20;

/// Maps pages, has the system provide them, and pins them for all devices, whose kernels can write
/// them at the same address. The driver itself takes 0.6 ms for each megabyte of cudaHostAlloc(),
/// and other threads' launches wait meanwhile; pages that are there it pins in 0.05 (H100, driver
/// 580). Not there in a forked child.
/// @return zeros, aligned to 2 MiB; null where the system or the driver does not do that
[[nodiscard]] std::uint8_t* make_pinned_pages(std::size_t bytes) noexcept;
/// Waits for all work on the device, as cudaFreeHost() does. What the driver does not unpin stays.
/// @param bytes  as they were made with
void free_pinned_pages(std::uint8_t* pages, std::size_t bytes) noexcept;

}  // namespace framewire::gpu
