#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <base/nanoseconds.hpp>
#include <base/read_file.hpp>
#include <batch/input_file.hpp>
#include <batch/read_buffer.hpp>

namespace framewire::batch {
namespace {

// Reads until the end. `expected` sizes the buffer.
Result<std::vector<std::uint8_t>> read_to_end(int fd, const std::string& name,
                                              std::uint64_t expected, std::uint64_t limit) {
  std::vector<std::uint8_t> bytes(first_buffer_bytes(expected));
  std::size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) bytes.resize(next_buffer_bytes(filled));
    const auto got = base::read_some(fd, std::span(bytes).subspan(filled));
    if (!got) return fail(io_error(name, "read", got.error()));
    filled += *got;
    if (*got == 0) break;
    if (filled > limit) return fail(over_limit(name, filled, limit));
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  InputFile input;
  // Without O_NONBLOCK a named pipe would wait here for somebody to write.
  input.file_ =
      base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!input.file_.valid()) return fail(io_error(path, "open", errno));
  struct stat facts {};
  if (::fstat(input.file_.get(), &facts) != 0) return fail(io_error(path, "examine", errno));
  if (!S_ISREG(facts.st_mode)) {
    return fail(Status(StatusCode::kInvalidInput,
                       fmt::format("found a {}; accepted: a regular file",
                                   S_ISDIR(facts.st_mode) ? "folder" : "device or pipe"))
                    .about(path));
  }
  input.path_ = path;
  input.bytes_ = static_cast<std::uint64_t>(facts.st_size);
  input.mtime_ns_ = base::to_nanoseconds(facts.st_mtim);
  input.permissions_ = permissions_of(input.file_.get(), facts);
  return input;
}

Result<void> InputFile::check_size(std::uint64_t limit) const {
  if (bytes_ > limit) return fail(over_limit(path_, bytes_, limit));
  return {};
}

Result<void> InputFile::read_into(std::span<std::uint8_t> into) const {
  const auto got = base::read_full(file_.get(), into);
  if (!got) return fail(io_error(path_, "read", got.error()));
  if (*got == into.size()) return {};
  return fail(Status(StatusCode::kIoError,
                     fmt::format("found {} bytes less than the {} that it had when opened",
                                 into.size() - *got, bytes_))
                  .about(path_));
}

Result<std::vector<std::uint8_t>> InputFile::read(std::uint64_t limit) const {
  if (auto fit = check_size(limit); !fit) return fail(fit.error());
  return read_to_end(file_.get(), path_, bytes_, limit);
}

Result<std::size_t> InputFile::read_some(std::span<std::uint8_t> into) const {
  const auto got = base::read_some(file_.get(), into);
  if (!got) return fail(io_error(path_, "read", got.error()));
  return *got;
}

Result<std::unique_ptr<OpenInput>> open_input_file(const std::string& path) {
  auto file = InputFile::open(path);
  if (!file) return fail(file.error());
  return std::make_unique<OpenFile>(std::move(*file));
}

Result<std::vector<std::uint8_t>> read_stream(int fd, const std::string& name,
                                              std::uint64_t limit) {
  // A redirected file has a size; beyond the limit it is only a reason to stop early.
  struct stat facts {};
  const bool sized = ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
  const auto expected = sized ? static_cast<std::uint64_t>(facts.st_size) : 0;
  return read_to_end(fd, name, std::min(expected, limit), limit);
}

}  // namespace framewire::batch
