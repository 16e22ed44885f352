#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <base/wait_for.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <service/mps/control.hpp>
#include <service/mps/daemon.hpp>
#include <service/mps/own_process.hpp>
#include <thread>
#include <utility>

namespace framewire::service::mps {
namespace {

using base::Clock;
using base::FileDescriptor;
using process::Environment;

constexpr const char* kPipes = "CUDA_MPS_PIPE_DIRECTORY";
constexpr const char* kLogs = "CUDA_MPS_LOG_DIRECTORY";
constexpr const char* kLogPart = "/log";
constexpr const char* kThreads = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";
constexpr const char* kMemory = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT";
/// The longest name that the daemon gives a socket there is far below the rest of sun_path, 108.
constexpr std::size_t kMaxFolder = 60;
/// How long a daemon that says that it runs has to write its number.
constexpr std::chrono::seconds kNumberWritten{2};
/// How long what was killed may take to go.
constexpr std::chrono::seconds kAfterKill{5};

/// Runs in a shell with the program and our folder as its arguments, and ends the daemon when its
/// standard input ends without a line: when we were killed.
constexpr const char* kWatch =
    "read -r line && exit 0\n"
    "echo quit -t 2 | timeout 20 \"$1\" >/dev/null 2>&1\n"
    "rm -rf -- \"$2\"\n";

std::string base_folder() {
  const char* runtime = ::getenv("XDG_RUNTIME_DIR");
  const std::string named = runtime == nullptr ? "" : runtime;
  const bool usable = named.starts_with('/') && named.size() < kMaxFolder - 24 &&
                      ::access(named.c_str(), W_OK | X_OK) == 0;
  return usable ? named : "/tmp";
}

/// A new folder that only this user may enter, with all that it holds when it goes.
class PrivateFolder {
 public:
  static Result<PrivateFolder> make() {
    std::string name = base_folder() + "/framewire-mps-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      return fail(Status(StatusCode::kIoError,
                         fmt::format("cannot make a folder: {}", std::strerror(errno)))
                      .about(name));
    }
    PrivateFolder folder(std::move(name));
    for (const char* part : {"/pipe", kLogPart}) {
      if (::mkdir((folder.path_ + part).c_str(), 0700) == 0) continue;
      return fail(Status(StatusCode::kIoError,
                         fmt::format("cannot make a folder: {}", std::strerror(errno)))
                      .about(folder.path_ + part));
    }
    return folder;
  }
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<process::Child> start_watch(const Control& control, const std::string& folder) {
  process::ChildOptions options;
  options.words = {"/bin/sh", "-c", kWatch, "framewire-mps", control.program(), folder};
  options.environment = control.environment();
  options.input = true;
  options.outlives_us = true;
  return process::Child::start(options);
}

}  // namespace

class Daemon::Impl {
 public:
  Impl(Control control, std::optional<PrivateFolder> folder)
      : control_(std::move(control)), folder_(std::move(folder)) {}
  ~Impl() {
    try {
      (void)end(std::chrono::seconds(0));
    } catch (...) {
      // Memory ran out. The shell that watches ends the daemon when our end of its pipe closes.
    }
  }

  Result<void> start(Clock::time_point until) {
    auto watch = start_watch(control_, folder_->path());
    if (!watch) return fail(watch.error());
    watch_.emplace(std::move(*watch));
    launched_ = true;
    if (auto started = control_.start_daemon(); !started) return started;
    // It may write its number after its parent has ended; without one it is not watched.
    const auto written = std::min(until, Clock::now() + kNumberWritten);
    while (!process_.valid() && Clock::now() < written) {
      watch_daemon();
      if (!process_.valid()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return answers();
  }

  Result<void> attach() {
    if (auto answered = answers(); !answered) return answered;
    watch_daemon();
    return {};
  }

  Result<void> alive() const {
    const bool gone = process_.valid() && base::wait_for(process_.get(), false, Clock::now());
    if (!gone && !ended_) return {};
    return fail(Status(StatusCode::kPeerLost, "the MPS daemon has ended").about(control_.folder()));
  }

  Result<void> end(std::chrono::seconds grace) {
    if (!folder_ || std::exchange(ended_, true)) return {};
    Result<void> outcome;
    const auto processes = own_processes();
    // Also where it was never seen: it may have started all the same.
    bool asked = false;
    if (launched_) {
      const auto answer = control_.command(fmt::format("quit -t {}", grace.count()));
      if (!answer && answer.error().code() != StatusCode::kPeerLost) outcome = fail(answer.error());
      asked = answer.has_value();
    }
    const auto until = Clock::now() + grace + kAfterKill;
    const auto end_all = [&](const std::vector<FileDescriptor>& all, bool wait) {
      for (const FileDescriptor& one : all) {
        if (auto gone = end_one(one, until, wait); !gone) outcome = gone;
      }
    };
    end_all(processes, asked);
    if (asked) (void)wait_for_end(process_, until);
    end_all(own_processes(), false);  // what it has started meanwhile
    if (watch_) {
      (void)!::write(watch_->input().get(), "ended\n", 6);
      (void)watch_->wait(Clock::now() + kAfterKill);
    }
    watch_.reset();
    folder_.reset();
    return outcome;
  }

  const Control& control() const { return control_; }
  bool started_here() const { return started_here_; }
  int pidfd() const { return process_.get(); }

 private:
  Result<void> answers() const {
    const auto answer = control_.command("get_server_list");
    return answer ? Result<void>() : fail(answer.error());
  }

  /// By the number in its folder, to be watched alone: what is killed is found by its environment.
  void watch_daemon() {
    if (const pid_t pid = daemon_process(control_.folder()); pid != 0) {
      process_ = open_any_process(pid);
    }
  }

  /// The daemon and what it has started. Its clients are not told where logs go.
  std::vector<FileDescriptor> own_processes() const {
    const pid_t watch = watch_ ? watch_->pid() : 0;
    return find_own_processes(kLogs, folder_->path() + kLogPart, watch);
  }

  /// @param asked  false: it was not told to end, and there is nothing to wait for
  Result<void> end_one(const FileDescriptor& one, Clock::time_point until, bool asked) const {
    if (asked && wait_for_end(one, until)) return {};
    kill_process(one);
    if (wait_for_end(one, Clock::now() + kAfterKill)) return {};
    return fail(
        Status(StatusCode::kDeadline, "a process of MPS cannot be ended").about(control_.folder()));
  }

  Control control_;
  std::optional<PrivateFolder> folder_;  ///< of one started here
  bool started_here_ = folder_.has_value();
  std::optional<process::Child> watch_;
  FileDescriptor process_;
  bool launched_ = false;
  bool ended_ = false;
};

Daemon::Daemon(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Daemon::~Daemon() = default;
Daemon::Daemon(Daemon&&) noexcept = default;

Result<Daemon> Daemon::start(const DaemonOptions& options) {
  const auto until = Clock::now() + options.timeout;
  auto program = find_control_program(options.program);
  if (!program) return fail(program.error());
  auto folder = PrivateFolder::make();
  if (!folder) return fail(folder.error());
  const std::string pipes = folder->path() + "/pipe";
  // What was set for this process must not become what the daemon gives to every client.
  Environment environment = {{kPipes, pipes},
                             {kLogs, folder->path() + kLogPart},
                             {kThreads, std::nullopt},
                             {kMemory, std::nullopt}};
  auto impl = std::make_unique<Impl>(
      Control(std::move(*program), std::move(environment), pipes, options.timeout),
      std::optional<PrivateFolder>(std::move(*folder)));
  if (auto started = impl->start(until); !started) return fail(started.error());
  return Daemon(std::move(impl));
}

Result<Daemon> Daemon::attach(const DaemonOptions& options, const std::string& folder) {
  auto program = find_control_program(options.program);
  if (!program) return fail(program.error());
  const char* named = ::getenv(kPipes);
  const std::string pipes = !folder.empty()                      ? folder
                            : named != nullptr && *named != '\0' ? named
                                                                 : "/tmp/nvidia-mps";
  auto impl = std::make_unique<Impl>(
      Control(std::move(*program), {{kPipes, pipes}}, pipes, options.timeout), std::nullopt);
  if (auto attached = impl->attach(); !attached) return fail(attached.error());
  return Daemon(std::move(impl));
}

Environment Daemon::environment(const Share& share, std::span<const int> devices) const {
  Environment changes = {{kPipes, folder()}, {kThreads, std::nullopt}, {kMemory, std::nullopt}};
  if (share.threads_percent != 0) changes[1].second = std::to_string(share.threads_percent);
  if (share.memory_bytes == 0) return changes;
  std::string bounds;
  const std::uint64_t mib = std::max<std::uint64_t>(1, share.memory_bytes >> 20);
  for (const int device : devices) {
    bounds += fmt::format("{}{}={}M", bounds.empty() ? "" : ",", device, mib);
  }
  if (!bounds.empty()) changes[2].second = bounds;
  return changes;
}

Environment Daemon::no_daemon(const std::string& empty_folder) {
  return {{kPipes, empty_folder}, {kThreads, std::nullopt}, {kMemory, std::nullopt}};
}

const std::string& Daemon::folder() const noexcept { return impl_->control().folder(); }
bool Daemon::started_here() const noexcept { return impl_->started_here(); }
int Daemon::pidfd() const noexcept { return impl_->pidfd(); }
Result<void> Daemon::alive() const { return impl_->alive(); }
Result<void> Daemon::end(std::chrono::seconds grace) { return impl_->end(grace); }
Result<std::vector<pid_t>> Daemon::servers() const { return impl_->control().servers(); }
Result<std::string> Daemon::device_clients() const { return impl_->control().device_clients(); }

Result<std::vector<pid_t>> Daemon::clients() const {
  const auto all = servers();
  if (!all) return fail(all.error());
  std::vector<pid_t> clients;
  for (const pid_t server : *all) {
    const auto some = impl_->control().clients(server);
    if (!some) return fail(some.error());
    clients.insert(clients.end(), some->begin(), some->end());
  }
  return clients;
}

}  // namespace framewire::service::mps
