// Whole writes, and errno as a Status.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <string>

namespace framewire::batch {

/// About `path`: "cannot write: No space left on device". @return io_error, or busy for a shortage
/// of descriptors or memory (base/errno_code.hpp)
[[nodiscard]] Status io_error(const std::string& path, std::string_view doing, int error_number);

/// Writes all bytes, whatever pieces the kernel takes. @return 0, or errno
[[nodiscard]] int write_all(int fd, std::span<const std::uint8_t> bytes) noexcept;

/// Makes a folder's names last, where its file system can do that at all. @return 0, or errno
[[nodiscard]] int flush_folder(int folder) noexcept;

}  // namespace framewire::batch
