#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <base/file_descriptor.hpp>
#include <base/random.hpp>
#include <batch/names.hpp>
#include <batch/temporary_file.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace framewire::batch {
namespace {

namespace fs = std::filesystem;

/// NAME_MAX, and a NUL.
constexpr std::size_t kNameBytes = 256;
/// As many as threads may write at a time; a file beyond them is not deleted by a signal.
constexpr std::size_t kMaxLive = 2048;

/// A live file as a signal handler finds it. `folder` is written last and read first.
struct Live {
  std::atomic<bool> taken{false};
  std::atomic<bool> made{false};  ///< there is such a file; until then there may be one soon
  std::atomic<int> folder{-1};
  std::array<char, kNameBytes> name{};
};
static_assert(std::atomic<int>::is_always_lock_free);
std::array<Live, kMaxLive> g_live;
/// No file is made any more. A thread that makes one notes it before it looks here; who ends the
/// process sets this before it looks for notes: so one of the two sees the other.
std::atomic<bool> g_ending{false};
/// The slot of the file that this thread makes: whoever interrupts it need not wait for it.
constinit thread_local std::size_t t_making = kMaxLive;

std::size_t note(int folder, const std::string& name) {
  if (name.size() >= kNameBytes) return kMaxLive;
  for (std::size_t slot = 0; slot < kMaxLive; ++slot) {
    Live& live = g_live[slot];
    if (live.taken.exchange(true)) continue;
    std::memcpy(live.name.data(), name.c_str(), name.size() + 1);
    live.made = false;
    live.folder = folder;
    return slot;
  }
  return kMaxLive;
}

void forget(std::size_t slot) noexcept {
  if (slot >= kMaxLive) return;
  g_live[slot].folder = -1;
  g_live[slot].taken = false;
}

/// Whether the folder's entry of that name is this file.
bool is_at(int file, int folder, const std::string& name) {
  struct stat ours {};
  struct stat named {};
  return ::fstat(file, &ours) == 0 &&
         ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

constexpr std::size_t kHostDigits = 8;
/// Names this host until it starts again, also in containers. Empty where that is not known.
const std::string& host_name() {
  static const std::string name = [] {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    return id.size() > kHostDigits ? id.substr(0, kHostDigits) : std::string();
  }();
  return name;
}

/// Whether it is a name of new_name() on another host. Claims, which have other names, are not.
bool is_from_another_host(std::string_view name) {
  name.remove_prefix(kTemporaryPrefix.size());
  name.remove_suffix(kTemporarySuffix.size());
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::string_view host = name.substr(0, name.find('-'));
  const bool told = host.size() == kHostDigits && std::ranges::count(name, '-') == 3 &&
                    name.find_first_not_of("0123456789abcdef-") == std::string_view::npos &&
                    host.find_first_not_of(kDigits) == std::string_view::npos;
  return told && !host_name().empty() && host != host_name();
}

/// Whether a file may be deleted once its lock is free. Some file systems keep locks within a host,
/// so that a file of another one only tells by its age that nobody writes it any more.
bool may_be_stale(int file, std::string_view name) {
  constexpr std::time_t kMaxPause_s = 3600;
  struct stat facts {};
  return !is_from_another_host(name) ||
         (::fstat(file, &facts) == 0 && std::time(nullptr) - facts.st_mtime > kMaxPause_s);
}

/// A name that no other process gives: in containers process ids repeat, and counters do.
std::string new_name() {
  static std::atomic<std::uint64_t> counter{0};
  static const auto random = base::random_number<std::uint64_t>();
  return fmt::format("{}{}-{}-{:x}-{}{}", kTemporaryPrefix, host_name(), ::getpid(),
                     random ? *random : 0, counter++, kTemporarySuffix);
}

bool remove_if_stale(const fs::path& path) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  // NFS locks for writing only what is open for writing.
  base::FileDescriptor file(::open(path.c_str(), O_RDWR | kFlags));
  if (!file.valid()) file = base::FileDescriptor(::open(path.c_str(), O_RDONLY | kFlags));
  if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return false;
  if (!may_be_stale(file.get(), path.filename().native())) return false;
  // Another process may have deleted it since, and a third one made its own of that name.
  return is_at(file.get(), AT_FDCWD, path.native()) && ::unlink(path.c_str()) == 0;
}

/// Whoever may make shards in a folder must see whether a claim is locked. Nobody else: who may
/// read a file may lock it, and would keep others from the work.
void let_writers_see(int file, int folder) noexcept {
  struct stat facts {};
  if (::fstat(folder, &facts) != 0) return;
  (void)::fchmod(file, 0600 | (facts.st_mode & (S_IWGRP | S_IWOTH)) << 1);
}

}  // namespace

TemporaryFile TemporaryFile::make(int folder) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  // A name that is not free is no obstacle, the next one is.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    errno = EINTR;
    if (g_ending) return {};  // without a note, which others would wait for
    TemporaryFile made;
    made.folder_ = folder;
    made.name_ = new_name();
    made.slot_ = note(folder, made.name_);
    t_making = made.slot_;
    errno = EINTR;
    if (!g_ending) {
      made.file_ = base::FileDescriptor(::openat(folder, made.name_.c_str(), kFlags, 0600));
    }
    const int error = errno;
    if (made.valid() && made.slot_ < kMaxLive) g_live[made.slot_].made = true;
    t_making = kMaxLive;
    if (made.valid()) {
      // Where locks are not supported, cleaning is just blinder.
      (void)::flock(made.get(), LOCK_EX);
      // Who looks for files of dead processes may have found it before it was locked.
      if (is_at(made.get(), folder, made.name_)) return made;
      made.keep();
      continue;
    }
    made.keep();
    errno = error;
    if (error != EEXIST) return made;
  }
  return {};
}

std::string claim_name(std::string_view label) {
  std::string name = fmt::format("{}{}{}", kTemporaryPrefix, label, kTemporarySuffix);
  if (name.size() < kNameBytes) return name;
  return fmt::format("{}{:016x}{}", kTemporaryPrefix, XXH3_64bits(label.data(), label.size()),
                     kTemporarySuffix);
}

TemporaryFile TemporaryFile::claim(int folder, const std::string& label) {
  constexpr int kFlags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  bool created = false;
  constexpr int kMaxAttempts = 100;
  constexpr int kAgain_ms = 5;
  const std::string name = claim_name(label);
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    base::FileDescriptor file(
        ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | kFlags, 0600));
    if (file.valid()) let_writers_see(file.get(), folder);
    created = created || file.valid();
    // NFS locks for writing only what is open for writing.
    if (!file.valid() && errno == EEXIST) {
      file = base::FileDescriptor(::openat(folder, name.c_str(), O_WRONLY | kFlags));
      if (!file.valid() && errno == EACCES) {
        file = base::FileDescriptor(::openat(folder, name.c_str(), O_RDONLY | kFlags));
      }
      if (!file.valid() && errno == ENOENT) continue;  // deleted since
    }
    if (!file.valid()) break;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) {
        // No locks here, or none for now: another process may have that name all the same.
        if (created) ::unlinkat(folder, name.c_str(), 0);
        return make(folder);
      }
      // Somebody who looks for files of dead processes has the lock for a moment.
      errno = EWOULDBLOCK;
      if (attempt >= 3) break;
      (void)::poll(nullptr, 0, kAgain_ms);
      continue;
    }
    // Who had it before may have deleted it since it was opened.
    if (!is_at(file.get(), folder, name)) continue;
    TemporaryFile made;
    made.folder_ = folder;
    made.name_ = name;
    made.file_ = std::move(file);
    made.slot_ = note(folder, name);
    if (made.slot_ < kMaxLive) g_live[made.slot_].made = true;
    return made;
  }
  return {};
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)),
      name_(std::move(other.name_)),
      file_(std::move(other.file_)),
      slot_(std::exchange(other.slot_, kMaxLive)) {}

TemporaryFile::~TemporaryFile() {
  if (folder_ < 0) return;
  // Where there are no locks the name may be another's by now.
  if (valid() && is_at(get(), folder_, name_)) ::unlinkat(folder_, name_.c_str(), 0);
  keep();
}

void TemporaryFile::keep() noexcept {
  forget(slot_);
  slot_ = kMaxLive;
  folder_ = -1;
}

void remove_live_temporaries() noexcept {
  // A thread that makes a file may wait for a core: on busy machines for more than 50 ms. The one
  // that is interrupted here makes no file any more.
  constexpr int kMaxWait_ms = 1000;
  g_ending = true;
  int waited_ms = 0;
  for (std::size_t slot = 0; slot < kMaxLive; ++slot) {
    const Live& live = g_live[slot];
    for (int folder = live.folder; folder >= 0; folder = live.folder) {
      const bool made = live.made;
      ::unlinkat(folder, live.name.data(), 0);
      if (made || slot == t_making || waited_ms == kMaxWait_ms) break;
      (void)::poll(nullptr, 0, 1);  // sleeps a millisecond, and may be called here
      ++waited_ms;
    }
  }
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
