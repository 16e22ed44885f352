#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <base/read_file.hpp>
#include <base/wait_for.hpp>
#include <charconv>
#include <filesystem>
#include <service/mps/own_process.hpp>
#include <string_view>
#include <system_error>
#include <utility>

namespace framewire::service::mps {
namespace {

using base::FileDescriptor;

constexpr std::size_t kMaxEnvironmentBytes = std::size_t{4} << 20;

std::string read_small(const std::string& path, std::size_t max) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return {};
  return base::read_text(file.get(), max).value_or(std::string());
}

}  // namespace

FileDescriptor open_any_process(pid_t pid) {
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

FileDescriptor open_own_process(pid_t pid, std::string_view variable, const std::string& value) {
  if (pid <= 1) return {};
  FileDescriptor pidfd = open_any_process(pid);
  if (!pidfd.valid()) return {};
  // Opened before it is looked at: the number cannot become another's in between.
  const std::string variables =
      '\0' + read_small(fmt::format("/proc/{}/environ", pid), kMaxEnvironmentBytes);
  const std::string ours = fmt::format("{}{}={}{}", '\0', variable, value, '\0');
  if (variables.find(ours) == std::string::npos) return {};
  return pidfd;
}

std::vector<FileDescriptor> find_own_processes(std::string_view variable, const std::string& value,
                                               pid_t except) {
  std::vector<FileDescriptor> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    const auto [stop, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failed != std::errc{} || stop != name.data() + name.size() || pid == except) continue;
    if (auto own = open_own_process(pid, variable, value); own.valid()) {
      found.push_back(std::move(own));
    }
  }
  return found;
}

pid_t daemon_process(const std::string& folder) {
  const std::string text = read_small(folder + "/nvidia-cuda-mps-control.pid", 64);
  pid_t pid = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid > 1 ? pid : 0;
}

bool wait_for_end(const FileDescriptor& pidfd, base::Clock::time_point until) {
  return !pidfd.valid() || base::wait_for(pidfd.get(), false, until);
}

void kill_process(const FileDescriptor& pidfd) {
  if (pidfd.valid()) (void)::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

}  // namespace framewire::service::mps
