// Files that appear whole or not at all.
#pragma once

#include <sys/stat.h>
#include <batch/file_place.hpp>
#include <batch/permissions.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <functional>
#include <optional>
#include <span>
#include <string>
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

/// How a file is written.
struct WriteOptions {
  Durability durability = Durability::kNone;
  const Permissions* source = nullptr;  ///< what the bytes were made of; null: anybody's
  std::optional<mode_t> mode;           ///< asked for, in place of what `source` allows
};

/// io_error while writing `path`; environment is set for ENOSPC, EDQUOT, EROFS, EIO, EMFILE and
/// ENFILE.
[[nodiscard]] WriteError write_error(const std::string& path, std::string_view doing, int error);

/// Says whether the regular file that has the name now may be replaced; null: there is none.
using MayReplace = std::function<Result<void>(const struct stat* existing)>;

/// Writes a temporary file in the place's folder, and gives it the name. Links in the name's place
/// are refused. Permissions as give_permissions() has them.
///
/// On failure nothing remains, neither file nor temporary. Thread safety: any number of calls at
/// once, also for one place: a name that was free when `may_replace` was asked and is not free any
/// more is asked about again.
/// @param path  for messages
/// @return as write_error(); what `may_replace` says
[[nodiscard]] WriteResult write_at(const FilePlace& place, const std::string& path,
                                   std::span<const std::uint8_t> bytes, const WriteOptions& options,
                                   const MayReplace& may_replace);

/// Writes the file that `path` names, following links as find_file_place() does, replacing what is
/// there. Its folder must exist.
[[nodiscard]] WriteResult write_atomically(const std::string& path,
                                           std::span<const std::uint8_t> bytes,
                                           const WriteOptions& options);

/// The same, making missing folders.
[[nodiscard]] WriteResult write_atomically(const std::string& path,
                                           std::span<const std::uint8_t> bytes,
                                           Durability durability);

}  // namespace framewire::batch
