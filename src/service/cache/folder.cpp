#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <base/errno_code.hpp>
#include <base/nanoseconds.hpp>
#include <base/read_file.hpp>
#include <cerrno>
#include <service/cache/folder.hpp>
#include <system_error>

namespace framewire::service::cache {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr unsigned kParts = 256;
constexpr std::string_view kTemporary = "tmp-";
// Nobody writes an entry for so long.
constexpr std::int64_t kTemporaryAge_s = 3600;
// Recency outlives a restart in the files' times; written as rarely as this.
constexpr std::int64_t kTouchAfter_s = 60;
constexpr std::uint64_t kBlockBytes = 4096;
constexpr std::uint64_t kNameBytes = 256;  // of an inode and its place in a folder, roughly

tl::unexpected<Status> refuse(StatusCode code, const std::string& path, std::string message) {
  return fail(Status(code, std::move(message)).about(path));
}

Result<base::FileDescriptor> open_root(const std::string& path) {
  (void)::mkdir(path.c_str(), kFolderMode);
  base::FileDescriptor root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!root.valid() || ::fstat(root.get(), &status) != 0) {
    const int error = errno;
    return refuse(base::code_of_errno(error), path, std::generic_category().message(error));
  }
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return refuse(StatusCode::kDenied, path,
                  "accepted: a folder of this user's own, to which nobody else may write");
  }
  return root;
}

bool is_own_file(const struct stat& status) noexcept {
  return S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1;
}

void touch(int file, const struct stat& status) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (now.tv_sec - status.st_mtim.tv_sec < kTouchAfter_s) return;
  (void)::futimens(file, nullptr);
}

// Not to be guessed and never the same twice: two processes write to one folder.
std::string temporary_name() {
  std::uint64_t random = 0;
  (void)!::getrandom(&random, sizeof random, 0);
  return fmt::format("{}{}-{:016x}", kTemporary, ::getpid(), random);
}

}  // namespace

int write_bytes(int fd, std::span<const std::uint8_t> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return 0;
}

std::uint64_t Folder::disk_bytes(std::uint64_t file_bytes) noexcept {
  return (file_bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes + kNameBytes;
}

Result<Folder> Folder::open(const std::string& path) {
  auto root = open_root(path);
  if (!root) return fail(root.error());
  Folder folder;
  folder.root_ = std::move(*root);
  return folder;
}

base::FileDescriptor Folder::open_part(unsigned part, bool make) const noexcept {
  char name[3] = {base::kHexDigits[part >> 4 & 15], base::kHexDigits[part & 15], 0};
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  base::FileDescriptor opened(::openat(root_.get(), name, kFlags));
  if (opened.valid() || !make || errno != ENOENT) return opened;
  if (::mkdirat(root_.get(), name, kFolderMode) != 0 && errno != EEXIST) return opened;
  return base::FileDescriptor(::openat(root_.get(), name, kFlags));
}

ReadResult Folder::read(const Key& key, std::uint64_t max_bytes,
                        const TakeMemory& take_memory) const {
  const EntryName name = name_of(key);
  const base::FileDescriptor part = open_part(name[0], false);
  if (!part.valid()) return {};
  const std::string text = to_text(name);
  // Without O_NONBLOCK the opening of a FIFO waits for a writer.
  const base::FileDescriptor file(
      ::openat(part.get(), text.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  const auto damaged = [&] {
    (void)::unlinkat(part.get(), text.c_str(), 0);
    return ReadResult{std::nullopt, true};
  };
  if (!file.valid()) return errno == ELOOP ? damaged() : ReadResult{};
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return {};
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (status.st_nlink == 0) return {};  // replaced or removed just now
  if (!is_own_file(status) || bytes < EntryHeader::kBytes || bytes > max_bytes) return damaged();
  StoredEntry entry;
  entry.memory = take_memory(static_cast<std::size_t>(bytes));
  if (entry.memory == nullptr) return {};
  const std::span<std::uint8_t> all(entry.memory.get(), static_cast<std::size_t>(bytes));
  if (base::read_full_at(file.get(), 0, all) != all.size()) return damaged();
  const auto header = read_header(all, bytes);
  if (!header) return damaged();
  entry.header = *header;
  entry.head = all.subspan(EntryHeader::kBytes, static_cast<std::size_t>(header->head_bytes));
  entry.body = all.subspan(EntryHeader::kBytes + entry.head.size());
  if (checksum_of(*header, entry.head, entry.body) != header->checksum) return damaged();
  if (header->key != key) return {};  // another entry of this name; not damaged, and not this one
  entry.disk_bytes = disk_bytes(bytes);
  touch(file.get(), status);
  return {std::move(entry), false};
}

int Folder::write(const EntryHeader& header, std::span<const std::uint8_t> head,
                  std::span<const std::uint8_t> body, const WriteBytes& write) const {
  const EntryName name = name_of(header.key);
  const base::FileDescriptor part = open_part(name[0], true);
  if (!part.valid()) return errno;
  const std::string temporary = temporary_name();
  const std::string text = to_text(name);
  base::FileDescriptor file(::openat(part.get(), temporary.c_str(),
                                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                     kFileMode));
  if (!file.valid()) return errno;
  const HeaderBytes first = write_header(header);
  int error = 0;
  for (const auto bytes : {std::span<const std::uint8_t>(first), head, body}) {
    if (error == 0) error = write(file.get(), bytes);
  }
  // Closing is where network file systems tell that the disk is full.
  if (::close(file.release()) != 0 && error == 0) error = errno;
  if (error == 0 && ::renameat(part.get(), temporary.c_str(), part.get(), text.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) (void)::unlinkat(part.get(), temporary.c_str(), 0);
  return error;
}

void Folder::remove(const EntryName& name) const noexcept {
  const base::FileDescriptor part = open_part(name[0], false);
  if (!part.valid()) return;
  char text[2 * std::tuple_size_v<EntryName> + 1] = {};
  for (std::size_t i = 0; i < name.size(); ++i) {
    text[2 * i] = base::kHexDigits[name[i] >> 4];
    text[2 * i + 1] = base::kHexDigits[name[i] & 15];
  }
  (void)::unlinkat(part.get(), text, 0);
}

bool Folder::scan_part(unsigned part, std::uint64_t max_bytes, const Visit& visit) const {
  base::FileDescriptor folder = open_part(part, false);
  if (!folder.valid()) return errno == ENOENT;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(folder.get()), ::closedir);
  if (listing == nullptr) return false;
  const int at = folder.release();  // the listing's from now on
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  while (true) {
    errno = 0;
    const dirent* const found = ::readdir(listing.get());
    if (found == nullptr) return errno == 0;
    const std::string_view text = found->d_name;
    auto name = parse_name(text);
    if (name && (*name)[0] != part) name.reset();
    const bool temporary = text.starts_with(kTemporary);
    if (!name && !temporary) continue;
    struct stat status {};
    if (::fstatat(at, found->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::int64_t age_s = now.tv_sec - status.st_mtim.tv_sec;
    const bool unusable =
        name && (!is_own_file(status) || static_cast<std::uint64_t>(status.st_size) > max_bytes);
    if (unusable || (temporary && age_s > kTemporaryAge_s)) {
      (void)::unlinkat(at, found->d_name, 0);
    } else if (name) {
      const auto bytes = static_cast<std::uint64_t>(status.st_size);
      if (!visit(*name, disk_bytes(bytes), base::to_nanoseconds(status.st_mtim))) return false;
    }
  }
}

bool Folder::scan(std::uint64_t max_bytes, const Visit& visit) const {
  bool whole = true;
  for (unsigned part = 0; part < kParts; ++part) {
    whole = scan_part(part, max_bytes, visit) && whole;
  }
  return whole;
}

}  // namespace framewire::service::cache
