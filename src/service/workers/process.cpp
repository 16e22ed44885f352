#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <base/errno_code.hpp>
#include <cerrno>
#include <memory>
#include <service/workers/handshake.hpp>
#include <service/workers/process.hpp>
#include <string_view>
#include <system_error>
#include <utility>

namespace framewire::service::workers {
namespace {

tl::unexpected<Status> cannot_start(const char* what, int error) {
  return fail(base::code_of_errno(error),
              fmt::format("{}: {}", what, std::generic_category().message(error)));
}

std::vector<char*> environment() {
  std::vector<char*> kept;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("FRAMEWIRE_")) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

/// What the child does between fork and exec.
class Actions {
 public:
  Actions() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    valid_ = ::posix_spawn_file_actions_init(&files_) == 0;
    valid_ = ::posix_spawnattr_init(&attributes_) == 0 && valid_;
    valid_ = valid_ && ::posix_spawnattr_setsigmask(&attributes_, &none) == 0 &&
             ::posix_spawnattr_setsigdefault(&attributes_, &all) == 0 &&
             ::posix_spawnattr_setflags(&attributes_,
                                        POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0;
  }
  ~Actions() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;

  /// @param socket  becomes kWorkerDescriptor; all that is behind it is closed
  bool set_files(int socket) {
    return valid_ && ::posix_spawn_file_actions_adddup2(&files_, socket, kWorkerDescriptor) == 0 &&
           ::posix_spawn_file_actions_addopen(&files_, 0, "/dev/null", O_RDONLY, 0) == 0 &&
           ::posix_spawn_file_actions_addopen(&files_, 1, "/dev/null", O_WRONLY, 0) == 0 &&
           ::posix_spawn_file_actions_addclosefrom_np(&files_, kWorkerDescriptor + 1) == 0;
  }
  [[nodiscard]] const posix_spawn_file_actions_t* files() const { return &files_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
  bool valid_ = false;
};

}  // namespace

std::string ProcessEnd::to_string() const {
  if (signal == 0) return fmt::format("ended with exit code {}", code);
  const char* const name = ::sigdescr_np(signal);
  return fmt::format("ended by signal {} ({})", signal, name == nullptr ? "unknown" : name);
}

Result<WorkerProcess> WorkerProcess::start(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return cannot_start("cannot make a socket for a worker process", errno);
  }
  WorkerProcess process;
  process.socket_ = base::FileDescriptor(ends[0]);
  const base::FileDescriptor child_end(ends[1]);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const std::vector<char*> variables = environment();
  Actions actions;
  if (!actions.set_files(child_end.get())) return cannot_start("cannot start a process", ENOMEM);
  if (const int error = ::posix_spawn(&process.pid_, words[0], actions.files(),
                                      actions.attributes(), words.data(), variables.data());
      error != 0) {
    process.pid_ = -1;
    return cannot_start("cannot start a worker process", error);
  }
  process.pidfd_ = base::FileDescriptor(
      static_cast<int>(::syscall(SYS_pidfd_open, process.pid_, 0u)));  // closed on exec
  if (!process.pidfd_.valid()) return cannot_start("cannot watch a worker process", errno);
  return process;
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      socket_(std::move(other.socket_)) {}

WorkerProcess::~WorkerProcess() {
  if (pid_ < 0) return;
  kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Until it is collected nobody else has its number.
void WorkerProcess::kill() noexcept {
  if (pid_ > 0) (void)::kill(pid_, SIGKILL);
}

bool WorkerProcess::is_stopped() const noexcept {
  if (pid_ < 0) return false;
  siginfo_t facts{};
  constexpr int kOnlyLook = WSTOPPED | WNOHANG | WNOWAIT;
  return ::waitid(P_PID, static_cast<id_t>(pid_), &facts, kOnlyLook) == 0 && facts.si_pid == pid_;
}

std::optional<ProcessEnd> WorkerProcess::collect() noexcept {
  if (pid_ < 0) return ProcessEnd{};
  int status = 0;
  const pid_t found = ::waitpid(pid_, &status, WNOHANG);
  if (found == 0 || (found < 0 && errno == EINTR)) return std::nullopt;
  pid_ = -1;
  ProcessEnd end;
  if (found > 0 && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (found > 0 && WIFEXITED(status)) end.code = WEXITSTATUS(status);
  return end;
}

}  // namespace framewire::service::workers
