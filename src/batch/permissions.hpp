// Who may read a file that we make: never more than may read what it was made of.
#pragma once

#include <sys/stat.h>
#include <batch/posix_file.hpp>
#include <framewire/batch/source.hpp>
#include <optional>
#include <string>

namespace framewire::batch {

/// The permissions of an open file, or of a file in an open folder whose facts are known.
[[nodiscard]] Permissions permissions_of(int file, const struct stat& facts);

/// Gives a new file, made with mode 0600, the mode it is to have, and where it replaces another
/// file that one's mode, owner, ACL and user attributes, as far as the system lets us.
///
/// Nobody gains: what `source` denies, the new file denies too, and without its old owner it is
/// not wider than with him. Set-user-id and set-group-id bits are dropped.
/// @param source    what the bytes were made of; null: anybody's
/// @param folder    where the replaced file lies
/// @param name      of the replaced file; used only with `replaced`
/// @param replaced  null: a new name
/// @param wanted    asked for; then nothing else counts for the mode
/// @return 0, or errno
[[nodiscard]] int give_permissions(int file, const Permissions* source, int folder,
                                   const std::string& name, const struct stat* replaced,
                                   std::optional<mode_t> wanted);

/// The mode of a new folder for outputs of a folder with `source`'s mode.
[[nodiscard]] mode_t folder_mode(std::optional<mode_t> source) noexcept;

}  // namespace framewire::batch
