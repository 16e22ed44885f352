#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <batch/location.hpp>
#include <batch/posix_file.hpp>
#include <climits>
#include <fstream>
#include <sstream>

namespace framewire::batch {
namespace {

constexpr std::uint64_t file_system(std::uint32_t major, std::uint32_t minor) {
  return std::uint64_t{major} << 32 | minor;
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// Blanks, newlines and backslashes stand as \ooo in mountinfo (proc(5)).
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool begins_with_folder(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string join(std::string_view folder, std::string_view rest) {
  if (folder == "/") return rest.empty() ? "/" : std::string(rest);
  return std::string(folder) + std::string(rest);
}

}  // namespace

bool holds(const Location& folder, const Location& inner) {
  return folder.filesystem == inner.filesystem && begins_with_folder(inner.path, folder.path);
}

Locator::Locator() : mounts_(std::make_shared<const Mounts>(read_mounts())) {}

// "36 35 98:0 /root /point …"
Locator::Mounts Locator::read_mounts() {
  Mounts mounts;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uint64_t id = 0;
    std::uint64_t parent = 0;
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    char colon = 0;
    std::string root;
    std::string point;
    if (words >> id >> parent >> major >> colon >> minor >> root >> point) {
      mounts[id] = {file_system(major, minor), unescape(root), unescape(point)};
    }
  }
  return mounts;
}

std::shared_ptr<const Locator::Mounts> Locator::mounts_with(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  // Mounted since.
  if (!mounts_->contains(id)) mounts_ = std::make_shared<const Mounts>(read_mounts());
  return mounts_;
}

Result<Location> Locator::of(int file, const std::string& path) const {
  struct statx facts {};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &facts) != 0) {
    return fail(io_error(path, "examine", errno));
  }
  Location location{file_system(facts.stx_dev_major, facts.stx_dev_minor),
                    std::string(PATH_MAX, '\0')};
  const std::string link = fmt::format("/proc/self/fd/{}", file);
  const ssize_t got = ::readlink(link.c_str(), location.path.data(), location.path.size());
  if (got < 0) {
    char* real = ::realpath(path.c_str(), nullptr);
    if (real == nullptr) return fail(io_error(path, "examine", errno));
    location.path = real;
    std::free(real);
    return location;
  }
  location.path.resize(static_cast<std::size_t>(got));
  if ((facts.stx_mask & STATX_MNT_ID) == 0) return location;
  const auto mounts = mounts_with(facts.stx_mnt_id);
  const auto mount = mounts->find(facts.stx_mnt_id);
  if (mount == mounts->end() || !begins_with_folder(location.path, mount->second.point)) {
    return location;
  }
  const std::string_view rest =
      std::string_view(location.path)
          .substr(mount->second.point == "/" ? 0 : mount->second.point.size());
  location.filesystem = mount->second.filesystem;
  location.path = join(mount->second.root, rest == "/" ? "" : rest);
  return location;
}

}  // namespace framewire::batch
