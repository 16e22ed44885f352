#include <fcntl.h>
#include <batch/file_place.hpp>
#include <batch/names.hpp>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <dataset/output_root.hpp>
#include <filesystem>
#include <system_error>
#include <utility>

namespace framewire::dataset {

Result<OutputRoot> open_output_root(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error && !std::filesystem::is_directory(path)) {
    return fail(batch::io_error(path, "make the folder", error.value()));
  }
  auto folder = batch::open_folder_of_ours(path);
  if (!folder) return fail(folder.error());
  // For fsync(), which takes no descriptor that was opened for its path alone.
  base::FileDescriptor readable(::openat(folder->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable.valid()) return fail(batch::io_error(path, "open the folder", errno));
  return OutputRoot{std::move(readable), batch::without_last_slashes(path)};
}

}  // namespace framewire::dataset
