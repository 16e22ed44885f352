#include <fcntl.h>
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

Result<void> write_whole_file(const std::string& path, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  auto written = batch::write_atomically(path, {bytes, text.size()}, batch::WriteOptions{});
  if (!written) return fail(std::move(written.error().status));
  return {};
}

Result<void> check_replaceable(const std::string& path,
                               const std::function<bool(std::string_view)>& is_ours) {
  const base::FileDescriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid() && errno == ENOENT) return {};
  struct stat facts {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) {
    return fail(batch::io_error(path, "open", errno));
  }
  if (!S_ISREG(facts.st_mode) || facts.st_size == 0) return {};
  const auto beginning = base::read_text(file.get(), 4096);
  if (!beginning) return fail(batch::io_error(path, "read", beginning.error()));
  if (is_ours(*beginning)) return {};
  return fail(Status(StatusCode::kInvalidInput,
                     "is a file of another kind, and is not replaced; accepted: a name that is "
                     "free, or what an earlier run has written there")
                  .about(path));
}

}  // namespace framewire::app
