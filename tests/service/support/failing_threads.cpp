#include <dlfcn.h>
#include <pthread.h>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <tests/service/support/failing_threads.hpp>

namespace framewire::service::test {
namespace {

std::atomic<long> threads_left = 0;  // until one is refused; 0: none is, or it has been
thread_local bool starts_count = false;

bool is_refused() noexcept {
  if (threads_left.load() <= 0) return false;
  char name[16] = {};
  const bool is_ours = ::pthread_getname_np(::pthread_self(), name, sizeof name) == 0 &&
                       std::strncmp(name, "fw-", 3) == 0;
  return (starts_count || is_ours) && threads_left.fetch_sub(1) == 1;
}

}  // namespace

FailingThreads::FailingThreads(long n, Starter counted) {
  starts_count = counted == Starter::kModuleOrMaker;
  threads_left = n;
}

FailingThreads::~FailingThreads() {
  threads_left = 0;
  starts_count = false;
}

bool FailingThreads::failed() const { return threads_left.load() <= 0; }

}  // namespace framewire::service::test

// The program's function comes before the C library's, and before a sanitizer's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static Create* const next = reinterpret_cast<Create*>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (framewire::service::test::is_refused()) return EAGAIN;
  return next(thread, attributes, start, argument);
}
