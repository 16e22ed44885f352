#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <base/errno_code.hpp>
#include <base/wait_for.hpp>
#include <cerrno>
#include <cstring>
#include <service/process/child.hpp>
#include <string_view>

namespace framewire::service::process {
namespace {

using base::FileDescriptor;

tl::unexpected<Status> failure(const std::string& program, std::string_view doing, int error) {
  return fail(
      Status(base::code_of_errno(error), fmt::format("cannot {}: {}", doing, std::strerror(error)))
          .about(program));
}

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;

  [[nodiscard]] bool make() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read = FileDescriptor(ends[0]);
    write = FileDescriptor(ends[1]);
    return true;
  }
};

/// What the new process needs, made before it is forked: nothing may be allocated there.
struct Image {
  std::vector<std::string> environment;
  std::vector<char*> words;
  std::vector<char*> variables;

  explicit Image(const ChildOptions& options) {
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view text = *variable;
      const std::string_view name = text.substr(0, text.find('='));
      const bool changed = std::any_of(options.environment.begin(), options.environment.end(),
                                       [&](const auto& change) { return change.first == name; });
      if (!changed) environment.emplace_back(text);
    }
    for (const auto& [name, value] : options.environment) {
      if (value) environment.push_back(name + "=" + *value);
    }
    for (const std::string& word : options.words) words.push_back(const_cast<char*>(word.c_str()));
    for (std::string& variable : environment) variables.push_back(variable.data());
    words.push_back(nullptr);
    variables.push_back(nullptr);
  }
};

struct Streams {
  Pipe input;
  Pipe output;
  Pipe errors;
  Pipe failed;  ///< closed by a program that runs; errno of one that does not
  FileDescriptor null;
};

/// In the new process, from the fork on: only what is safe in a signal handler.
[[noreturn]] void become(const ChildOptions& options, const Image& image, const Streams& streams,
                         pid_t parent) {
  (void)::setpgid(0, 0);
  if (!options.outlives_us) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // It may have ended before that was heard.
    if (::getppid() != parent) ::_exit(127);
  }
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP}) {
    (void)::signal(number, SIG_DFL);
  }
  const auto end = [&](const FileDescriptor& pipe) {
    return pipe.valid() ? pipe.get() : streams.null.get();
  };
  const bool placed = ::dup2(end(streams.input.read), STDIN_FILENO) >= 0 &&
                      ::dup2(end(streams.output.write), STDOUT_FILENO) >= 0 &&
                      ::dup2(end(streams.errors.write), STDERR_FILENO) >= 0;
  if (placed) (void)::execve(image.words[0], image.words.data(), image.variables.data());
  const int error = errno;
  (void)!::write(streams.failed.write.get(), &error, sizeof error);
  ::_exit(127);
}

void make_nonblocking(const FileDescriptor& end) {
  if (end.valid()) (void)::fcntl(end.get(), F_SETFL, O_NONBLOCK);
}

}  // namespace

std::string Ending::to_string() const {
  return signal != 0 ? fmt::format("signal {}", signal) : fmt::format("exit code {}", exit_code);
}

Result<Child> Child::start(const ChildOptions& options) {
  if (options.words.empty()) return fail(StatusCode::kInvalidInput, "there is no program to start");
  const std::string& program = options.words[0];
  const Image image(options);
  Streams streams;
  // The lowest descriptors must be taken, or dup2() above would overwrite the ends of pipes.
  do {
    streams.null = FileDescriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!streams.null.valid()) return failure(program, "open /dev/null", errno);
    if (streams.null.get() <= STDERR_FILENO) (void)streams.null.release();
  } while (!streams.null.valid());
  const bool piped = streams.failed.make() && (!options.input || streams.input.make()) &&
                     (!options.output || streams.output.make()) &&
                     (!options.errors || streams.errors.make());
  if (!piped) return failure(program, "make a pipe", errno);
  const pid_t parent = ::getpid();
  Child child;
  child.pid_ = ::fork();
  if (child.pid_ == 0) become(options, image, streams, parent);
  if (child.pid_ < 0) return failure(program, "start", errno);
  (void)::setpgid(child.pid_, child.pid_);
  streams.failed.write.reset();
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(streams.failed.read.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got == sizeof error) {
    child.kill();
    return failure(program, "start", error);
  }
  child.pidfd_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0)));
  if (!child.pidfd_.valid()) {
    const int refused = errno;
    child.kill();
    return failure(program, "watch", refused);
  }
  child.input_ = std::move(streams.input.write);
  child.output_ = std::move(streams.output.read);
  child.errors_ = std::move(streams.errors.read);
  for (const auto* end : {&child.input_, &child.output_, &child.errors_}) make_nonblocking(*end);
  return child;
}

Child::~Child() { kill(); }

Child::Child(Child&& other) noexcept { *this = std::move(other); }

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  kill();
  pid_ = std::exchange(other.pid_, -1);
  pidfd_ = std::move(other.pidfd_);
  input_ = std::move(other.input_);
  output_ = std::move(other.output_);
  errors_ = std::move(other.errors_);
  ending_ = std::exchange(other.ending_, std::nullopt);
  return *this;
}

std::optional<Ending> Child::ending() noexcept {
  if (ending_ || pid_ <= 0) return ending_;
  int status = 0;
  pid_t found = 0;
  while ((found = ::waitpid(pid_, &status, WNOHANG)) < 0 && errno == EINTR) {
  }
  if (found == 0) return std::nullopt;
  // Whoever ignores SIGCHLD gets no status.
  ending_ = Ending{};
  if (found == pid_ && WIFEXITED(status)) ending_->exit_code = WEXITSTATUS(status);
  if (found == pid_ && WIFSIGNALED(status)) ending_->signal = WTERMSIG(status);
  return ending_;
}

std::optional<Ending> Child::wait(base::Clock::time_point until) noexcept {
  if (auto ended = ending()) return ended;
  if (!base::wait_for(pidfd_.get(), false, until)) return std::nullopt;
  return ending();
}

void Child::signal(int number) noexcept {
  if (pid_ > 0 && !ending()) (void)::kill(pid_, number);
}

void Child::kill() noexcept {
  if (pid_ <= 0 || ending()) return;
  // Not yet waited for, so that neither number can be another's by now.
  if (::kill(-pid_, SIGKILL) != 0) (void)::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ending_ = Ending{-1, SIGKILL};
}

}  // namespace framewire::service::process
