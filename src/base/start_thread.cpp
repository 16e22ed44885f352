#include <fmt/format.h>
#include <pthread.h>
#include <algorithm>
#include <base/start_thread.hpp>
#include <base/thread_name.hpp>
#include <system_error>

namespace framewire::base {

ThreadName::ThreadName(std::string_view name) noexcept {
  std::copy_n(name.begin(), std::min(name.size(), text_.size() - 1), text_.begin());
}

void ThreadName::give_to_this_thread() const noexcept { name_thread(text_.data()); }

BlockedSignals::BlockedSignals() noexcept {
  sigset_t blocked;
  sigfillset(&blocked);
  // The system ends a process whose fault raises a signal that is blocked, and calls no handler.
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
    sigdelset(&blocked, fault);
  }
  sigdelset(&blocked, SIGPROF);
  (void)::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

BlockedSignals::~BlockedSignals() { (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Status why_no_thread(const ThreadName& name) noexcept {
  try {
    throw;
  } catch (const std::system_error& error) {
    try {
      return {StatusCode::kBusy,
              fmt::format("cannot start the thread {}: {}", name.view(), error.code().message())};
    } catch (...) {  // as below
    }
  } catch (...) {  // std::bad_alloc
  }
  return {StatusCode::kBusy, "memory ran out"};  // short enough for the string itself
}

}  // namespace framewire::base
