#include <fcntl.h>
#include <fmt/format.h>
#include <base/file_descriptor.hpp>
#include <base/read_file.hpp>
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
    const auto got = base::read_full(file.get(), base::bytes_of(piece));
    if (!got) return fail(batch::io_error(label, "read", got.error()));
    if (*got == 0) return {};
    const auto text = std::string_view(piece).substr(0, *got);
    if (!lines.add(text, take)) return fail(row_is_too_long(label));
  }
}

}  // namespace framewire::dataset
