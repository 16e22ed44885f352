#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <array>
#include <base/errno_code.hpp>
#include <base/file_descriptor.hpp>
#include <batch/atomic_file.hpp>
#include <batch/temporary_file.hpp>
#include <filesystem>
#include <mutex>

namespace framewire::batch {
namespace {

namespace fs = std::filesystem;

bool concerns_every_file(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EROFS:
    case EIO:
      return true;
    default:
      return base::is_shortage(error);
  }
}

tl::unexpected<WriteError> refused(const std::string& path, std::string_view doing, int error) {
  return tl::unexpected<WriteError>(write_error(path, doing, error));
}

tl::unexpected<WriteError> refused(Status status) {
  return tl::unexpected<WriteError>({std::move(status), false});
}

// Some file systems tell only on closing that there was no space. Closing a duplicate makes them
// tell, and leaves the file locked.
int flush_errors(int file) {
  const int twin = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (twin < 0) return 0;
  return ::close(twin) == 0 || errno == EINTR ? 0 : errno;
}

int fill(int file, std::span<const std::uint8_t> bytes, Durability durability) {
  if (const int error = write_all(file, bytes); error != 0) return error;
  if (durability == Durability::kFile && ::fsync(file) != 0) return errno;
  return flush_errors(file);
}

// What has the name now, links not followed. @return nothing where it is free
Result<std::optional<struct stat>> find_existing(const FilePlace& place, const std::string& path) {
  struct stat facts {};
  if (::fstatat(place.folder.get(), place.name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return fail(io_error(path, "examine", errno));
  }
  if (S_ISREG(facts.st_mode)) return facts;
  if (S_ISDIR(facts.st_mode)) return fail(io_error(path, "replace a folder", EISDIR));
  return fail(Status(StatusCode::kIoError,
                     fmt::format("cannot replace a {}; accepted: a file, or a name that is free",
                                 S_ISLNK(facts.st_mode) ? "link" : "device, pipe or socket"))
                  .about(path));
}

// Where the file system knows no exclusive rename (NFS, FAT), one that it knows by links; else the
// name is claimed by an empty file first.
int rename_to_free(int folder, const std::string& from, const std::string& to) {
  if (::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (::linkat(folder, from.c_str(), folder, to.c_str(), 0) == 0) {
    ::unlinkat(folder, from.c_str(), 0);
    return 0;
  }
  if (errno == EEXIST || errno == ENOENT) return errno;
  const base::FileDescriptor claim(
      ::openat(folder, to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!claim.valid()) return errno;
  if (::renameat(folder, from.c_str(), folder, to.c_str()) == 0) return 0;
  const int error = errno;
  ::unlinkat(folder, to.c_str(), 0);
  return error;
}

/// What came of trying to take the name.
enum class Taken : std::uint8_t { kYes, kAgain };

// Two writers of one name that have both been allowed to replace the same file: the second finds
// another file there, and has to ask again. One lock for each file would be too many.
std::mutex& replacing(const struct stat& old) {
  static std::array<std::mutex, 64> locks;
  return locks[old.st_ino % locks.size()];
}

tl::expected<Taken, WriteError> take_name(const FilePlace& place, const std::string& path,
                                          const std::string& from, const struct stat* old) {
  const int folder = place.folder.get();
  if (old == nullptr) {
    const int error = rename_to_free(folder, from, place.name);
    if (error == EEXIST) return Taken::kAgain;
    if (error != 0) return refused(path, "rename to", error);
    return Taken::kYes;
  }
  const std::lock_guard lock(replacing(*old));
  struct stat now {};
  const bool same = ::fstatat(folder, place.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
                    now.st_dev == old->st_dev && now.st_ino == old->st_ino;
  if (!same) return Taken::kAgain;
  if (::renameat(folder, from.c_str(), folder, place.name.c_str()) != 0) {
    return refused(path, "rename to", errno);
  }
  return Taken::kYes;
}

}  // namespace

WriteError write_error(const std::string& path, std::string_view doing, int error) {
  return {io_error(path, doing, error), concerns_every_file(error)};
}

WriteError make_error(const std::string& path, std::string_view doing, int error, bool in_root) {
  WriteError made = write_error(path, doing, error);
  if (in_root && (error == EACCES || error == EPERM)) made.environment = true;
  return made;
}

WriteResult write_at(const FilePlace& place, const std::string& path,
                     std::span<const std::uint8_t> bytes, const WriteOptions& options,
                     const MayReplace& may_replace) {
  constexpr int kMaxAttempts = 1000;
  const int folder = place.folder.get();
  TemporaryFile file = TemporaryFile::make(folder);
  if (!file.valid()) {
    return tl::unexpected<WriteError>(make_error(path, "create", errno, options.in_root));
  }
  if (const int error = fill(file.get(), bytes, options.durability); error != 0) {
    return refused(path, "write", error);
  }
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    auto existing = find_existing(place, path);
    if (!existing) return refused(std::move(existing.error()));
    const struct stat* old = *existing ? &**existing : nullptr;
    if (auto good = may_replace(old); !good) return refused(std::move(good.error()));
    if (const int error =
            give_permissions(file.get(), options.source, folder, place.name, old, options.mode);
        error != 0) {
      return refused(path, "set the permissions of", error);
    }
    const auto taken = take_name(place, path, file.name(), old);
    if (!taken) return tl::unexpected<WriteError>(taken.error());
    if (*taken == Taken::kAgain) continue;
    file.keep();
    return {};
  }
  return refused(path, "rename to", EBUSY);
}

WriteResult write_atomically(const std::string& path, std::span<const std::uint8_t> bytes,
                             const WriteOptions& options) {
  auto place = find_file_place(path);
  if (!place) return refused(std::move(place.error()));
  return write_at(*place, path, bytes, options,
                  [](const struct stat*) -> Result<void> { return {}; });
}

WriteResult write_atomically(const std::string& path, std::span<const std::uint8_t> bytes,
                             Durability durability) {
  // Only when the folder is missing: the usual case costs no system call.
  const std::string folder = fs::path(path).parent_path();
  struct stat facts {};
  if (!folder.empty() && ::stat(folder.c_str(), &facts) != 0) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return refused(path, "make the folder of", error.value());
  }
  return write_atomically(path, bytes, WriteOptions{durability, nullptr, std::nullopt, false});
}

}  // namespace framewire::batch
