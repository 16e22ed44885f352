#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <base/file_descriptor.hpp>
#include <batch/file_place.hpp>
#include <climits>
#include <string_view>

namespace framewire::batch {
namespace {

constexpr int kMaxLinks = 40;  // as many as the kernel follows

struct Parts {
  std::string folder;
  std::string name;
};

// "a/b/" names b, as for the system.
Parts split_path(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return {".", std::string(path)};
  const std::string_view folder = path.substr(0, slash);
  return {folder.empty() ? "/" : std::string(folder), std::string(path.substr(slash + 1))};
}

std::string read_link(int link) {
  std::string text(PATH_MAX, '\0');
  const ssize_t got = ::readlinkat(link, "", text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

Result<void> check_owner(const struct stat& link, const std::string& path) {
  if (link.st_uid == 0 || link.st_uid == ::geteuid()) return {};
  return fail(Status(StatusCode::kDenied,
                     fmt::format("is a link that user {} owns; accepted: files, and links of one's "
                                 "own or of root's",
                                 link.st_uid))
                  .about(path));
}

bool is_magic(int link) {
  struct statfs facts {};
  return ::fstatfs(link, &facts) == 0 && facts.f_type == PROC_SUPER_MAGIC;
}

}  // namespace

Result<FilePlace> find_file_place(const std::string& path) {
  FilePlace place;
  std::string rest = path;
  for (int links = 0; links < kMaxLinks; ++links) {
    Parts parts = split_path(rest);
    if (parts.name.empty() || parts.name == "." || parts.name == "..") {
      return fail(io_error(path, "write", EISDIR));
    }
    const int from = place.folder.valid() ? place.folder.get() : AT_FDCWD;
    base::FileDescriptor folder(
        ::openat(from, parts.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder.valid()) return fail(io_error(path, "open the folder of the file", errno));
    place.folder = std::move(folder);
    place.name = std::move(parts.name);
    const base::FileDescriptor found(
        ::openat(place.folder.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!found.valid() && errno == ENOENT) return place;
    if (!found.valid()) return fail(io_error(path, "examine", errno));
    struct stat facts {};
    if (::fstat(found.get(), &facts) != 0) return fail(io_error(path, "examine", errno));
    if (!S_ISLNK(facts.st_mode)) return place;
    if (is_magic(found.get())) {
      place.magic = true;
      return place;
    }
    if (auto ours = check_owner(facts, path); !ours) return fail(ours.error());
    rest = read_link(found.get());
  }
  return fail(io_error(path, "follow the link", ELOOP));
}

Result<base::FileDescriptor> open_folder_of_ours(const std::string& path) {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  const std::string name = split_path(path).name;
  // These name folders that are open already, or the root: none of them is a link.
  const bool plain = name.empty() || name == "." || name == "..";
  FilePlace place;
  if (!plain) {
    auto found = find_file_place(path);
    if (!found) return fail(found.error());
    place = std::move(*found);
  }
  const int from = plain ? AT_FDCWD : place.folder.get();
  const char* to = plain ? path.c_str() : place.name.c_str();
  const int follow = plain || place.magic ? 0 : O_NOFOLLOW;
  base::FileDescriptor folder(::openat(from, to, kFlags | follow));
  if (!folder.valid()) return fail(io_error(path, "open the folder", errno));
  return folder;
}

}  // namespace framewire::batch
