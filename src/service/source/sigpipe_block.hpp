// Keeps SIGPIPE from ending the process while libraries write to sockets.
#pragma once

#include <pthread.h>
#include <csignal>
#include <ctime>

namespace framewire::service::source {

/// Blocks SIGPIPE for the calling thread, as long as it lives. OpenSSL writes with write(2), which
/// raises the signal where the other end has gone; libcurl would ignore it for the whole process
/// meanwhile, which threads must not do to one another. Made and destroyed on the same thread.
class SigpipeBlock {
 public:
  SigpipeBlock() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    (void)::pthread_sigmask(SIG_BLOCK, &pipe_, &old_);
  }
  ~SigpipeBlock() {
    if (sigismember(&old_, SIGPIPE) == 1) return;
    // What was raised meanwhile is ours, and must not arrive now.
    const timespec at_once{};
    (void)::sigtimedwait(&pipe_, nullptr, &at_once);
    (void)::pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }
  SigpipeBlock(const SigpipeBlock&) = delete;
  SigpipeBlock& operator=(const SigpipeBlock&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t old_{};
};

}  // namespace framewire::service::source
