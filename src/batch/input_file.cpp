#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <batch/input_file.hpp>

namespace framewire::batch {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;

Status over_limit(const std::string& path, std::uint64_t bytes, std::uint64_t limit) {
  return Status(StatusCode::kTooLarge,
                fmt::format("found at least {} bytes; accepted: max-input-bytes, {}", bytes, limit))
      .about(path);
}

ssize_t read_retrying(int fd, std::uint8_t* into, std::size_t bytes) {
  ssize_t got = 0;
  do {
    got = ::read(fd, into, bytes);
  } while (got < 0 && errno == EINTR);
  return got;
}

// Reads until the end. `expected` sizes the buffer, with one byte to find the end by, so that a
// file of known size is neither moved nor held twice.
Result<std::vector<std::uint8_t>> read_to_end(int fd, const std::string& name,
                                              std::uint64_t expected, std::uint64_t limit,
                                              std::vector<std::uint8_t> bytes = {}) {
  bytes.resize(std::max<std::uint64_t>(expected + 1, 4096));
  std::size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) bytes.resize(filled + std::min<std::uint64_t>(filled, kPiece));
    const ssize_t got = read_retrying(fd, bytes.data() + filled, bytes.size() - filled);
    if (got < 0) return fail(io_error(name, "read", errno));
    filled += static_cast<std::size_t>(got);
    if (got == 0) break;
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
  input.mtime_ns_ = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
  input.permissions_ = permissions_of(input.file_.get(), facts);
  return input;
}

Result<bool> InputFile::starts_like_jpeg() const {
  std::uint8_t head[2] = {};
  const ssize_t got = ::pread(file_.get(), head, sizeof head, 0);
  if (got < 0) return fail(io_error(path_, "read", errno));
  return got == 2 && head[0] == 0xFF && head[1] == 0xD8;
}

Result<void> InputFile::check_size(std::uint64_t limit) const {
  if (bytes_ > limit) return fail(over_limit(path_, bytes_, limit));
  return {};
}

Result<void> InputFile::read_into(std::span<std::uint8_t> into) const {
  while (!into.empty()) {
    const ssize_t got = read_retrying(file_.get(), into.data(), into.size());
    if (got < 0) return fail(io_error(path_, "read", errno));
    if (got == 0) {
      return fail(Status(StatusCode::kIoError,
                         fmt::format("found {} bytes less than the {} that it had when opened",
                                     into.size(), bytes_))
                      .about(path_));
    }
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Result<std::vector<std::uint8_t>> InputFile::read(std::uint64_t limit,
                                                  std::vector<std::uint8_t> reuse) const {
  if (auto fit = check_size(limit); !fit) return fail(fit.error());
  return read_to_end(file_.get(), path_, bytes_, limit, std::move(reuse));
}

Result<std::optional<std::span<const std::uint8_t>>> InputFile::read_within(
    std::span<std::uint8_t> into, std::uint64_t limit) const {
  if (auto fit = check_size(limit); !fit) return fail(fit.error());
  if (bytes_ >= into.size()) return std::nullopt;
  std::size_t filled = 0;
  for (;;) {
    const ssize_t got = read_retrying(file_.get(), into.data() + filled, into.size() - filled);
    if (got < 0) return fail(io_error(path_, "read", errno));
    if (got == 0) return into.first(filled);
    filled += static_cast<std::size_t>(got);
    if (filled > limit) return fail(over_limit(path_, filled, limit));
    if (filled == into.size()) break;
  }
  if (::lseek(file_.get(), 0, SEEK_SET) < 0) return fail(io_error(path_, "read", errno));
  return std::nullopt;
}

Status about_file(Status status, const std::string& path) {
  if (status.subject().empty()) return std::move(status).about(path);
  Status named = Status(status.code(), status.subject() + ": " + status.message()).about(path);
  return status.offset() ? std::move(named).at(*status.offset()) : named;
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
