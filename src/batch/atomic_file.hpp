// Files that appear whole or not at all.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace framewire::batch {

/// What a finished output survives besides the death of the program.
///
/// kNone leaves flushing to the kernel: a power cut may lose or empty files of the last seconds,
/// which --resume notices by their size and makes again from the inputs; it is the default because
/// waiting for the disk at every file costs more than that. kFile flushes each file before it gets
/// its name.
enum class Durability : std::uint8_t { kNone, kFile };

/// Why a write failed, and whether the next file would fail alike (no space, read-only disk).
struct WriteError {
  Status status;
  bool environment = false;
};
using WriteResult = tl::expected<void, WriteError>;

/// Writes `path` through a temporary file in the same folder and a rename; makes missing folders.
///
/// The temporary file is locked (flock) while it lives, so that remove_stale_temporaries() of
/// another process leaves it alone. On failure nothing remains, neither file nor temporary.
/// Thread safety: any number of calls at once, also for one path (the last rename wins).
/// @return io_error; environment is set for ENOSPC, EDQUOT, EROFS, EIO, EMFILE and ENFILE
[[nodiscard]] WriteResult write_atomically(const std::string& path,
                                           std::span<const std::uint8_t> bytes,
                                           Durability durability);

/// Whether a file name is one that write_atomically() gives its temporary files.
[[nodiscard]] bool is_temporary_name(std::string_view name) noexcept;

/// Deletes temporary files of processes that died, in `folder` and below; follows no links.
/// @return how many were deleted; io_error where the folder exists and cannot be read
[[nodiscard]] Result<std::uint64_t> remove_stale_temporaries(const std::string& folder);

}  // namespace framewire::batch
