#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <base/file_descriptor.hpp>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <dataset/row_lines.hpp>

namespace framewire::dataset {

Status row_is_too_long(const std::string& label) {
  return Status(StatusCode::kTooLarge,
                fmt::format("has a line of more than {} bytes; accepted: manifests, whose rows are "
                            "shorter",
                            kMaxRowBytes))
      .about(label);
}

Result<void> read_rows(int folder, const std::string& name, const std::string& label,
                       const std::function<void(std::string_view)>& take) {
  // As read_record() opens it: another file may have come in its place.
  const base::FileDescriptor file(
      ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return fail(batch::io_error(label, "open", errno));
  RowLines lines;
  std::string piece(64u << 10, '\0');
  for (;;) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(batch::io_error(label, "read", errno));
    if (got == 0) return {};
    const auto text = std::string_view(piece).substr(0, static_cast<std::size_t>(got));
    if (!lines.add(text, take)) return fail(row_is_too_long(label));
  }
}

}  // namespace framewire::dataset
