// Threads of the library's own.
#pragma once

#include <pthread.h>
#include <base/thread_name.hpp>
#include <csignal>
#include <thread>
#include <utility>

namespace framewire::transport::session {

/// Starts a thread that takes no signals: those are for the threads of the program.
/// @param name  at most 15 bytes. Throws std::system_error where there is no thread
template <typename Work>
[[nodiscard]] std::thread quiet_thread(const char* name, Work work) {
  struct Mask {
    sigset_t before;
    Mask() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Mask() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  };
  const Mask mask;
  return std::thread([name, work = std::move(work)]() mutable {
    base::name_thread(name);
    work();
  });
}

}  // namespace framewire::transport::session
