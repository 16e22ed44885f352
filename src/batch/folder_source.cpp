// The folder source: a depth-first walk that holds a bounded part of each open folder.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <batch/input_file.hpp>
#include <batch/names.hpp>
#include <batch/posix_file.hpp>

namespace framewire::batch {
namespace {

constexpr std::size_t kMaxNames = 32'768;  // of the topmost folder; halved at each level below
constexpr std::size_t kMinNames = 256;

struct DirectoryCloser {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, DirectoryCloser>;

struct Entry {
  std::string name;
  std::uint64_t inode = 0;
  unsigned char type = DT_UNKNOWN;
  friend bool operator<(const Entry& a, const Entry& b) { return a.name < b.name; }
};

struct Level {
  std::string path;  // to open
  std::string name;  // below the root, with a trailing slash; empty for the root
  FileId id;
  bool direct = true;       // as of Input
  std::vector<Entry> part;  // sorted; the next entries to hand out
  std::size_t at = 0;
  bool more = true;  // entries beyond `part` may exist
};

bool has_jpeg_extension(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string extension = base::to_lower(name.substr(dot + 1));
  return extension == "jpg" || extension == "jpeg" || extension == "jpe" || extension == "jfif";
}

// Where the kernel does not say, it may be one.
bool is_mount(const std::string& folder) {
  struct statx facts {};
  if (::statx(AT_FDCWD, folder.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &facts) != 0) {
    return true;
  }
  return (facts.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0 ||
         (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// Keeps the smallest `capacity` names greater than `after`, in a heap, so that one pass over the
// folder needs no more memory than they take.
int read_part(Level& level, std::size_t capacity) {
  const std::string after = level.part.empty() ? "" : level.part.back().name;
  level.part.clear();
  level.at = 0;
  level.more = false;
  const Directory directory(::opendir(level.path.c_str()));
  if (!directory) return errno;
  for (;;) {
    errno = 0;
    const dirent* found = ::readdir(directory.get());
    if (found == nullptr) break;
    const std::string_view name = found->d_name;
    if (name == "." || name == ".." || name <= after || is_temporary_name(name)) continue;
    if (level.part.size() == capacity) {
      level.more = true;
      if (name >= level.part.front().name) continue;
      std::pop_heap(level.part.begin(), level.part.end());
      level.part.pop_back();
    }
    level.part.push_back({std::string(name), found->d_ino, found->d_type});
    std::push_heap(level.part.begin(), level.part.end());
  }
  const int error = errno;
  std::sort_heap(level.part.begin(), level.part.end());
  return error;
}

class FolderSource final : public FileSource {
 public:
  FolderSource(std::vector<FileId> excluded, Level root) : excluded_(std::move(excluded)) {
    levels_.push_back(std::move(root));
  }

  Result<std::optional<Input>> next() override { return take(); }

 private:
  std::optional<Input> take() {
    while (!levels_.empty()) {
      Level& level = levels_.back();
      if (level.at < level.part.size()) {
        if (auto input = visit(level, level.part[level.at++])) return input;
      } else if (level.more) {
        const Input folder{level.path, level.name, true, std::nullopt, level.direct};
        const int error = read_part(level, capacity());
        if (error != 0) return failed(folder, io_error(folder.label, "read the folder", error));
      } else {
        levels_.pop_back();
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::size_t capacity() const {
    const std::size_t depth = std::min<std::size_t>(levels_.size() - 1, 16);
    return std::max(kMaxNames >> depth, kMinNames);
  }

  static Input failed(Input input, Status status) {
    input.error = std::move(status);
    return input;
  }

  // Hands out a file, enters a folder, or passes an excluded entry over.
  std::optional<Input> visit(const Level& level, const Entry& entry) {
    Input input{level.path + "/" + entry.name, level.name + entry.name,
                has_jpeg_extension(entry.name), std::nullopt, level.direct && entry.type == DT_REG};
    if (entry.type == DT_REG && !may_be_excluded(entry.inode)) return input;
    struct stat facts {};
    if (::stat(input.label.c_str(), &facts) != 0) {
      return failed(input, io_error(input.label, "examine", errno));
    }
    const FileId id{facts.st_dev, facts.st_ino};
    if (std::ranges::find(excluded_, id) != excluded_.end()) return std::nullopt;
    if (S_ISREG(facts.st_mode)) return input;
    if (S_ISDIR(facts.st_mode)) {
      const bool direct = level.direct && entry.type == DT_DIR && !is_mount(input.label);
      return enter(std::move(input), id, direct);
    }
    input.expected = false;
    return failed(input, Status(StatusCode::kInvalidInput,
                                "found a device, pipe or socket; accepted: regular files")
                             .about(input.label));
  }

  std::optional<Input> enter(Input folder, FileId id, bool direct) {
    for (const Level& above : levels_) {
      if (above.id != id) continue;
      folder.expected = false;
      return failed(folder,
                    Status(StatusCode::kInvalidInput,
                           fmt::format("link leads back to {}, which contains it", above.path))
                        .about(folder.label));
    }
    levels_.push_back({folder.label, folder.name + "/", id, direct, {}, 0, true});
    return std::nullopt;
  }

  [[nodiscard]] bool may_be_excluded(std::uint64_t inode) const {
    return std::ranges::any_of(excluded_, [&](const FileId& id) { return id.inode == inode; });
  }

  std::vector<FileId> excluded_;
  std::vector<Level> levels_;
};

}  // namespace

Result<std::unique_ptr<Source>> open_folder(const std::string& folder,
                                            std::vector<FileId> excluded) {
  const Directory probe(::opendir(folder.c_str()));
  struct stat facts {};
  if (!probe || ::stat(folder.c_str(), &facts) != 0) {
    return fail(io_error(folder, "read the folder", errno));
  }
  Level root;
  root.path = folder;
  while (root.path.size() > 1 && root.path.back() == '/') root.path.pop_back();
  root.id = {facts.st_dev, facts.st_ino};
  return std::make_unique<FolderSource>(std::move(excluded), std::move(root));
}

}  // namespace framewire::batch
