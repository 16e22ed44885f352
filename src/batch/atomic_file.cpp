#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <atomic>
#include <batch/atomic_file.hpp>
#include <batch/posix_file.hpp>
#include <filesystem>

namespace framewire::batch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".framewire-";
constexpr std::string_view kSuffix = ".tmp";

bool concerns_every_file(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EROFS:
    case EIO:
    case EMFILE:
    case ENFILE:
      return true;
    default:
      return false;
  }
}

tl::unexpected<WriteError> refused(const std::string& path, std::string_view doing, int error) {
  return tl::unexpected<WriteError>({io_error(path, doing, error), concerns_every_file(error)});
}

std::string temporary_beside(const fs::path& path) {
  static std::atomic<std::uint64_t> counter{0};
  const fs::path name = fmt::format("{}{}-{}{}", kPrefix, ::getpid(), counter++, kSuffix);
  return path.parent_path() / name;
}

// Makes the missing folders only when the first open fails: the usual case costs no system call.
FileDescriptor open_new(const std::string& temporary) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  FileDescriptor file(::open(temporary.c_str(), flags, 0666));
  if (file.valid() || errno != ENOENT) return file;
  std::error_code error;
  fs::create_directories(fs::path(temporary).parent_path(), error);
  if (error) {
    errno = error.value();
    return file;
  }
  return FileDescriptor(::open(temporary.c_str(), flags, 0666));
}

int fill(const FileDescriptor& file, std::span<const std::uint8_t> bytes, Durability durability) {
  if (const int error = write_all(file.get(), bytes); error != 0) return error;
  if (durability == Durability::kFile && ::fsync(file.get()) != 0) return errno;
  return 0;
}

bool remove_if_stale(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return false;
  return ::unlink(path.c_str()) == 0;
}

}  // namespace

WriteResult write_atomically(const std::string& path, std::span<const std::uint8_t> bytes,
                             Durability durability) {
  // A cleaning process may take the file between its creation and its lock: then once more.
  for (int attempt = 0;; ++attempt) {
    const std::string temporary = temporary_beside(path);
    const FileDescriptor file = open_new(temporary);
    if (!file.valid()) {
      // A name left by a dead process that had this one's id is no obstacle, the next is free.
      if (errno == EEXIST && attempt < 1000) continue;
      return refused(path, "create", errno);
    }
    (void)::flock(file.get(), LOCK_EX);  // where locks are not supported, cleaning is just blinder
    if (const int error = fill(file, bytes, durability); error != 0) {
      ::unlink(temporary.c_str());
      return refused(path, "write", error);
    }
    if (::rename(temporary.c_str(), path.c_str()) == 0) return {};
    const int error = errno;
    ::unlink(temporary.c_str());
    if (error != ENOENT || attempt >= 3) return refused(path, "rename to", error);
  }
}

bool is_temporary_name(std::string_view name) noexcept {
  return name.starts_with(kPrefix) && name.ends_with(kSuffix);
}

Result<std::uint64_t> remove_stale_temporaries(const std::string& folder) {
  std::uint64_t removed = 0;
  std::error_code error;
  fs::recursive_directory_iterator walk(folder, fs::directory_options::skip_permission_denied,
                                        error);
  while (!error && walk != fs::recursive_directory_iterator()) {
    const fs::path& path = walk->path();
    if (is_temporary_name(path.filename().native()) && remove_if_stale(path)) ++removed;
    walk.increment(error);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(io_error(folder, "look for unfinished files in", error.value()));
  }
  return removed;
}

}  // namespace framewire::batch
