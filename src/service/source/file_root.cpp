#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <base/errno_code.hpp>
#include <cerrno>
#include <cstring>
#include <service/source/fetch_error.hpp>
#include <service/source/file_root.hpp>
#include <service/source/source_url.hpp>
#include <system_error>

namespace framewire::service::source {
namespace {

// Without O_NONBLOCK the opening of a FIFO waits for a writer.
constexpr int kOpenFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
// openat2() answers EAGAIN where somebody renames meanwhile, which may be an attacker's only work.
constexpr int kMaxTries = 16;

std::string describe(int error) { return std::generic_category().message(error); }

int open_beneath(int root, const char* path, int flags) noexcept {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const long fd = ::syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) return static_cast<int>(fd);
  }
  return -1;
}

int open_by_components(int root, std::string_view path) {
  const auto segments = clean_segments(path);
  if (!segments || segments->empty()) {
    errno = ENOENT;
    return -1;
  }
  base::FileDescriptor folder;
  int at = root;
  for (std::size_t i = 0; i + 1 < segments->size(); ++i) {
    const std::string name((*segments)[i]);
    base::FileDescriptor next(
        ::openat(at, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) return -1;
    folder = std::move(next);
    at = folder.get();
  }
  const std::string name(segments->back());
  return ::openat(at, name.c_str(), kOpenFlags | O_NOFOLLOW);
}

bool has_hidden_name(std::string_view path) noexcept {
  return path.find("/.") != std::string_view::npos;
}

tl::unexpected<FetchError> refused(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case EXDEV:   // out of the root
    case EACCES:  // not said apart: who may not read a file need not know that it is there
    case EPERM:
    case ENXIO:  // a socket, or a FIFO without a writer
    case ENAMETOOLONG:
    case EISDIR:
      return fail_fetch(FetchErrorKind::kNotFound, describe(error));
    default:  // EAGAIN, a shortage elsewhere: somebody renames on the way, all the time
      return fail_fetch(base::is_shortage(error) ? FetchErrorKind::kBusy : FetchErrorKind::kIo,
                        describe(error));
  }
}

}  // namespace

Result<FileRoot> FileRoot::open(const std::string& folder) {
  FileRoot result;
  result.root_ = base::FileDescriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!result.root_.valid()) {
    const int error = errno;
    return fail(
        Status(base::code_of_errno(error), fmt::format("the root of sources: {}", describe(error)))
            .about(folder));
  }
  // O_PATH asks for no right to the folder itself; to look for "." in it is what a request will do.
  const base::FileDescriptor entered(
      ::openat(result.root_.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!entered.valid()) {
    const int error = errno;
    return fail(Status(base::code_of_errno(error),
                       fmt::format("the root of sources cannot be entered: {}; accepted: a folder "
                                   "that the user of the service may search",
                                   describe(error)))
                    .about(folder));
  }
  const base::FileDescriptor probe(
      open_beneath(result.root_.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (probe.valid()) result.walk_ = Walk::kKernel;
  return result;
}

Fetched<base::FileDescriptor> FileRoot::open_file(std::string_view path) const {
  if (path.size() < 2 || path.front() != '/' || path.find('\0') != std::string_view::npos) {
    return fail_fetch(FetchErrorKind::kNotFound, "no path");
  }
  if (has_hidden_name(path)) return fail_fetch(FetchErrorKind::kNotFound, "a hidden name");
  const std::string relative(path.substr(1));
  base::FileDescriptor file(walk_ == Walk::kKernel
                                ? open_beneath(root_.get(), relative.c_str(), kOpenFlags)
                                : open_by_components(root_.get(), relative));
  if (!file.valid()) return refused(errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return refused(errno);
  if (!S_ISREG(status.st_mode)) return fail_fetch(FetchErrorKind::kNotFound, "not a regular file");
  return file;
}

}  // namespace framewire::service::source
