// A server of a test's own, in another process, that prints its port.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <string>
#include <vector>

namespace framewire::test {

/// Ends with this. The process is told so by SIGTERM, has five seconds to end what it has started,
/// and is then killed.
class LoopbackServer {
 public:
  LoopbackServer() = default;
  LoopbackServer(const std::string& program, std::vector<std::string> words) {
    int input[2];
    int output[2];
    if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) return;
    words.insert(words.begin(), program);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(input[0], 0);
      ::dup2(output[1], 1);
      const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      ::dup2(nowhere, 2);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(input[0]);
    ::close(output[1]);
    input_ = input[1];
    for (char c = 0; ::read(output[0], &c, 1) == 1 && c != '\n';) port_ += c;
    ::close(output[0]);
  }
  ~LoopbackServer() {
    if (process_ < 0) return;
    ::close(input_);
    ::kill(process_, SIGTERM);
    for (int i = 0; i < 500; ++i) {
      if (::waitpid(process_, nullptr, WNOHANG) == process_) return;
      ::usleep(10'000);
    }
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  [[nodiscard]] bool started() const { return !port_.empty(); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + port_; }

 private:
  pid_t process_ = -1;
  int input_ = -1;
  std::string port_;
};

}  // namespace framewire::test
