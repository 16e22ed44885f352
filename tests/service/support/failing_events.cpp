#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <tests/service/support/failing_events.hpp>

namespace framewire::service::test {
namespace {

std::atomic<bool> events_fail = false;

}  // namespace

FailingEvents::FailingEvents() { events_fail = true; }
FailingEvents::~FailingEvents() { events_fail = false; }

}  // namespace framewire::service::test

// The program's function comes before the C library's.
extern "C" int eventfd(unsigned count, int flags) {
  if (framewire::service::test::events_fail) {
    errno = EMFILE;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_eventfd2, count, flags));
}
