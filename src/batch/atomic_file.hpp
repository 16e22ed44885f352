// Files that appear whole or not at all.
#pragma once

#include <sys/stat.h>
#include <batch/file_place.hpp>
#include <batch/permissions.hpp>
#include <framewire/batch/files.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>

namespace framewire::batch {

/// How a file is written.
struct WriteOptions {
  Durability durability = Durability::kNone;
  const Permissions* source = nullptr;  ///< what the bytes were made of; null: anybody's
  std::optional<mode_t> mode;           ///< asked for, in place of what `source` allows
  bool in_root = false;                 ///< the folder is the one that all outputs lie in or below
};

/// io_error() while writing `path`; environment is set for ENOSPC, EDQUOT, EROFS, EIO and shortages
/// of descriptors or memory.
[[nodiscard]] WriteError write_error(const std::string& path, std::string_view doing, int error);

/// The same while making a file or folder in another folder. @param in_root  that one is the folder
/// that all outputs lie in or below: environment is set for EACCES and EPERM, too. Below it they
/// concern one folder alone
[[nodiscard]] WriteError make_error(const std::string& path, std::string_view doing, int error,
                                    bool in_root);

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
