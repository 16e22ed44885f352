// Servers and clients as processes of their own. Each is forked while this one has no threads yet.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <string>
#include <tests/service/local/local_server_fixture.hpp>
#include <utility>

namespace framewire::service::local::test {

/// A child that is killed at the latest when this ends.
class Child {
 public:
  template <typename Body>
  explicit Child(Body body) {
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ != 0) return;
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    try {
      body();
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(0);
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Freezes it: until it is killed it does nothing more. Waits until that is so.
  void freeze() const {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
  }
  void thaw() const { ::kill(pid_, SIGCONT); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = -1;
};

/// What a child does that is a server until it is killed.
inline auto serve_at(std::string path) {
  return [path = std::move(path)] {
    Engine engine = Engine::make(host_engine()).value();
    LocalServerOptions options;
    options.path = path;
    const auto started = LocalServer::start(engine, options);
    for (;;) ::pause();
  };
}

inline Result<Client> connect_soon(const std::string& path) {
  Result<Client> client = fail(StatusCode::kInternal, "not tried");
  soon([&] {
    client = Client::connect(path, small_client());
    return client.has_value();
  });
  return client;
}

}  // namespace framewire::service::local::test
