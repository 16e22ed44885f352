#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <base/file_descriptor.hpp>
#include <base/read_file.hpp>
#include <batch/atomic_file.hpp>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <files/whole_file.hpp>
#include <utility>

namespace framewire::app {
namespace {

Result<void> not_replaced(const std::string& path, std::string_view kind) {
  return fail(Status(StatusCode::kInvalidInput,
                     fmt::format("is {}, and is not replaced; accepted: a name that is free, or "
                                 "what an earlier run has written there",
                                 kind))
                  .about(path));
}

}  // namespace

Result<void> write_whole_file(const std::string& path, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  auto written = batch::write_atomically(path, {bytes, text.size()}, batch::WriteOptions{});
  if (!written) return fail(std::move(written.error().status));
  return {};
}

Result<void> check_replaceable(const std::string& path,
                               const std::function<bool(std::string_view)>& is_ours) {
  struct stat facts {};
  // Looked at before it is opened: opening a pipe or a device may have effects of its own.
  if (::stat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) return {};
    return fail(batch::io_error(path, "examine", errno));
  }
  if (!S_ISREG(facts.st_mode)) return not_replaced(path, "no regular file");
  const base::FileDescriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid() && errno == ENOENT) return {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) {
    return fail(batch::io_error(path, "open", errno));
  }
  if (!S_ISREG(facts.st_mode)) return not_replaced(path, "no regular file");
  if (facts.st_size == 0) return {};
  const auto beginning = base::read_text(file.get(), 4096);
  if (!beginning) return fail(batch::io_error(path, "read", beginning.error()));
  if (is_ours(*beginning)) return {};
  return fail(is_another_kind(path));
}

Status is_another_kind(const std::string& path) {
  return not_replaced(path, "a file of another kind").error();
}

}  // namespace framewire::app
