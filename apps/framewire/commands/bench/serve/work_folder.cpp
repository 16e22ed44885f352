#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <base/read_file.hpp>
#include <cerrno>
#include <commands/bench/serve/work_folder.hpp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::app::bench_serve {
namespace {

using base::FileDescriptor;

constexpr std::string_view kPrefix = "framewire-bench-";
constexpr std::size_t kRandomCharacters = 6;  // as mkdtemp() makes them
constexpr const char* kLock = "lock";
// What a lock file holds: some other folder with a file of that name is none of ours.
constexpr std::string_view kMark = "framewire bench serve\n";
// The bench makes two levels.
constexpr int kMaxDepth = 8;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

FileDescriptor open_folder(int parent, const char* name) {
  return FileDescriptor(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  // A descriptor of its own, whose place in the folder nobody else moves.
  FileDescriptor own = open_folder(folder, ".");
  const std::unique_ptr<DIR, CloseFolder> list(own.valid() ? ::fdopendir(own.get()) : nullptr);
  if (list == nullptr) return names;
  (void)own.release();
  while (const dirent* const entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

// Removes all in it but the lock file, which marks the folder as long as something is left.
void empty_folder(int folder, int depth) {
  for (const std::string& name : names_in(folder)) {
    if (depth == 0 && name == kLock) continue;
    if (::unlinkat(folder, name.c_str(), 0) == 0 || depth == kMaxDepth) continue;
    const FileDescriptor below = open_folder(folder, name.c_str());
    if (!below.valid()) continue;
    empty_folder(below.get(), depth + 1);
    (void)::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
  }
}

bool is_name_of_ours(std::string_view name) {
  return name.size() == kPrefix.size() + kRandomCharacters && name.starts_with(kPrefix);
}

bool is_of_this_user(int file, mode_t kind) {
  struct stat facts {};
  return ::fstat(file, &facts) == 0 && facts.st_uid == ::geteuid() &&
         (facts.st_mode & S_IFMT) == kind;
}

bool is_marked(int lock) {
  std::string text(kMark.size() + 1, '\0');
  const auto got = base::read_full_at(lock, 0, base::bytes_of(text));
  return got && std::string_view(text).substr(0, *got) == kMark;
}

bool remove_if_dead(int parent, const char* name) {
  const FileDescriptor folder = open_folder(parent, name);
  if (!folder.valid() || !is_of_this_user(folder.get(), S_IFDIR)) return false;
  const FileDescriptor lock(
      ::openat(folder.get(), kLock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!lock.valid() || !is_of_this_user(lock.get(), S_IFREG)) return false;
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !is_marked(lock.get())) return false;
  empty_folder(folder.get(), 0);
  (void)::unlinkat(folder.get(), kLock, 0);
  return ::unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

// Marked only once the lock is held: whoever cleans up leaves alone what is not marked.
FileDescriptor take_lock(const std::string& path) {
  const std::string name = path + "/" + kLock;
  FileDescriptor lock(
      ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock.valid()) return lock;
  // Whoever cleans up may look at the file just now, for a moment.
  int locked = -1;
  while ((locked = ::flock(lock.get(), LOCK_EX)) != 0 && errno == EINTR) {
  }
  if (locked == 0) (void)!::write(lock.get(), kMark.data(), kMark.size());
  return lock;
}

}  // namespace

Result<WorkFolder> WorkFolder::make(const std::string& in) {
  std::string path = fmt::format("{}/{}{:X<{}}", in, kPrefix, "", kRandomCharacters);
  if (::mkdtemp(path.data()) == nullptr) {
    const int error = errno;
    Status status(StatusCode::kIoError,
                  fmt::format("cannot make a folder: {}", std::strerror(error)));
    return fail(std::move(status).about(path));
  }
  auto lock = take_lock(path);
  for (const char* part : {"/in", "/expected", "/no-mps"}) {
    std::error_code ignored;
    std::filesystem::create_directory(path + part, ignored);
  }
  return WorkFolder(std::move(path), std::move(lock));
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::size_t remove_folders_of_dead_runs(const std::string& in) {
  const FileDescriptor parent(::open(in.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return 0;
  const auto names = names_in(parent.get());
  return static_cast<std::size_t>(std::ranges::count_if(names, [&](const std::string& name) {
    return is_name_of_ours(name) && remove_if_dead(parent.get(), name.c_str());
  }));
}

}  // namespace framewire::app::bench_serve
