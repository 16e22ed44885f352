#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <batch/identity.hpp>
#include <batch/posix_file.hpp>
#include <cerrno>

namespace framewire::batch {

Result<Identity> identify(int file, const std::string& path) {
  struct statx facts {};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &facts) != 0) {
    return fail(io_error(path, "examine", errno));
  }
  const bool told = (facts.stx_mask & STATX_MNT_ID) != 0;
  // As makedev() packs them in st_dev.
  struct stat same {};
  if (::fstat(file, &same) != 0) return fail(io_error(path, "examine", errno));
  return Identity{same.st_dev, same.st_ino, told ? facts.stx_mnt_id : same.st_dev};
}

Status leads_to_mount(const std::string& path, std::string_view part) {
  return Status(StatusCode::kInvalidInput,
                fmt::format("its folder {} is a mount of its own; accepted below the output "
                            "folder: folders of the same mount",
                            part))
      .about(path);
}

}  // namespace framewire::batch
