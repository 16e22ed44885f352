#include <fmt/format.h>
#include <linux/limits.h>
#include <sys/xattr.h>
#include <array>
#include <batch/permissions.hpp>
#include <cstring>
#include <string_view>
#include <vector>

namespace framewire::batch {
namespace {

constexpr const char* kAcl = "system.posix_acl_access";
constexpr mode_t kAll = S_IRWXU | S_IRWXG | S_IRWXO;
constexpr mode_t kPlain = 0666;

// Read once: there is no way to read it without setting it. Files that other threads make in
// between come out narrower, not wider.
mode_t umask_bits() {
  static const mode_t bits = [] {
    const mode_t mask = ::umask(S_IRWXG | S_IRWXO);
    ::umask(mask);
    return mask;
  }();
  return bits;
}

using Attribute = std::vector<std::uint8_t>;

template <typename Get>
Attribute read_attribute(Get get) {
  std::array<std::uint8_t, 4096> small{};
  ssize_t got = get(small.data(), small.size());
  if (got >= 0) return {small.begin(), small.begin() + got};
  if (errno != ERANGE) return {};
  Attribute large(XATTR_SIZE_MAX);
  got = get(large.data(), large.size());
  large.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return large;
}

// What the ACL grants the owning group, which the mode's group bits, being the ACL's mask, do not
// tell. Layout: linux/posix_acl_xattr.h, a version, then tag, permissions and id of each entry.
std::optional<mode_t> owning_group_bits(const Attribute& acl) {
  constexpr std::size_t kHeader = 4;
  constexpr std::size_t kEntry = 8;
  constexpr std::uint16_t kGroupObject = 0x04;
  constexpr std::uint16_t kMask = 0x10;
  std::optional<mode_t> group;
  mode_t mask = 7;
  for (std::size_t at = kHeader; at + kEntry <= acl.size(); at += kEntry) {
    std::uint16_t tag = 0;
    std::uint16_t bits = 0;
    std::memcpy(&tag, acl.data() + at, sizeof tag);
    std::memcpy(&bits, acl.data() + at + 2, sizeof bits);
    if (tag == kGroupObject) group = bits & 7;
    if (tag == kMask) mask = bits & 7;
  }
  if (!group) return std::nullopt;
  return (*group & mask) << 3;
}

mode_t plain_mode(mode_t mode, const Attribute& acl) {
  const auto group = owning_group_bits(acl);
  return group ? (mode & kAll & ~mode_t{S_IRWXG}) | *group : mode & kAll;
}

// The group's bits for a group that is another one than they were meant for: those of everybody.
mode_t for_another_group(mode_t mode) {
  return mode & ~(mode_t{S_IRWXG} & ~((mode & S_IRWXO) << 3));
}

// A file system without permissions of its own, such as FAT, refuses: then there is nothing to
// keep.
int set_mode(int file, mode_t mode, std::optional<mode_t> wanted) {
  if (::fchmod(file, wanted.value_or(mode)) == 0) return 0;
  const bool none = errno == EPERM || errno == ENOTSUP || errno == ENOSYS;
  return none && !wanted ? 0 : errno;
}

/// The file that is replaced, by the folder that is held open.
class Replaced {
 public:
  Replaced(int folder, const std::string& name, const struct stat& facts)
      : path_(fmt::format("/proc/self/fd/{}/{}", folder, name)), facts_(facts) {}

  [[nodiscard]] Attribute get(const char* name) const {
    return read_attribute([&](void* into, std::size_t bytes) {
      return ::lgetxattr(path_.c_str(), name, into, bytes);
    });
  }
  // Owner and group each by itself: who may not give files away may still choose among his groups.
  void give_owner(int file, const Permissions* source) const {
    const bool open = source == nullptr || (source->mode & S_IROTH) != 0;
    if (open || source->user == facts_.st_uid) (void)!::fchown(file, facts_.st_uid, gid_t(-1));
    if (open || source->group == facts_.st_gid) (void)!::fchown(file, uid_t(-1), facts_.st_gid);
  }
  void give_user_attributes(int file) const {
    const Attribute names = read_attribute([&](void* into, std::size_t bytes) {
      return ::llistxattr(path_.c_str(), static_cast<char*>(into), bytes);
    });
    std::string_view rest(reinterpret_cast<const char*>(names.data()), names.size());
    for (auto end = rest.find('\0'); end != std::string_view::npos; end = rest.find('\0')) {
      const std::string name(rest.substr(0, end));
      rest.remove_prefix(end + 1);
      if (!name.starts_with("user.")) continue;
      const Attribute value = get(name.c_str());
      (void)::fsetxattr(file, name.c_str(), value.data(), value.size(), 0);
    }
  }

 private:
  std::string path_;
  const struct stat& facts_;
};

}  // namespace

Permissions permissions_of(int file, const struct stat& facts) {
  Permissions permissions{
      {facts.st_dev, facts.st_ino}, facts.st_mode & kAll, facts.st_uid, facts.st_gid};
  // Only where the group has more than everybody can an ACL make a difference.
  if (((facts.st_mode >> 3) & ~facts.st_mode & 7) == 0) return permissions;
  permissions.mode = plain_mode(facts.st_mode, read_attribute([&](void* into, std::size_t bytes) {
                                  return ::fgetxattr(file, kAcl, into, bytes);
                                }));
  return permissions;
}

int give_permissions(int file, const Permissions* source, int folder, const std::string& name,
                     const struct stat* replaced, std::optional<mode_t> wanted) {
  struct stat made {};
  if (::fstat(file, &made) != 0) return errno;
  // A folder's default ACL takes the place of the umask.
  const bool inherited = ::fgetxattr(file, kAcl, nullptr, 0) > 0;
  mode_t mode = inherited ? kPlain : kPlain & ~umask_bits();
  if (replaced != nullptr) {
    const Replaced old(folder, name, *replaced);
    old.give_owner(file, source);
    old.give_user_attributes(file);
    if (::fstat(file, &made) != 0) return errno;
    const Attribute acl = old.get(kAcl);
    const bool same = source != nullptr && source->id == FileId{replaced->st_dev, replaced->st_ino};
    const bool open = source == nullptr || (source->mode & S_IROTH) != 0;
    const bool kept = !acl.empty() && (same || open) && made.st_gid == replaced->st_gid &&
                      made.st_uid == replaced->st_uid &&
                      ::fsetxattr(file, kAcl, acl.data(), acl.size(), 0) == 0;
    // The replaced file itself, with its own ACL: as it was.
    if (kept) return set_mode(file, replaced->st_mode & kAll, wanted);
    mode = plain_mode(replaced->st_mode, acl);
    if (made.st_gid != replaced->st_gid) mode = for_another_group(mode);
  }
  if (source != nullptr) {
    // An inherited ACL names users who have the group's bits without being of the group.
    const bool same_readers = source->group == made.st_gid && !inherited;
    mode &= same_readers ? source->mode : for_another_group(source->mode);
    // Another owner than the source's has made the file and may read it.
    if (source->user != made.st_uid) mode |= S_IRUSR | S_IWUSR;
  }
  return set_mode(file, mode, wanted);
}

mode_t folder_mode(std::optional<mode_t> source) noexcept {
  const mode_t mode = kAll & ~umask_bits();
  return source ? mode & (*source | S_IRWXU) : mode;
}

}  // namespace framewire::batch
