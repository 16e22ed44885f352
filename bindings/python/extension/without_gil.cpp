#include <pthread.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <extension/without_gil.hpp>
#include <new>
#include <thread>

namespace framewire::python {
namespace nb = nanobind;

namespace {

std::atomic<int> at_work = 0;  // threads without the GIL
std::atomic<bool> ending = false;
std::atomic<pthread_t> ending_thread;  // set before `ending`

void await_work() {
  ending_thread = pthread_self();
  ending = true;
  const nb::gil_scoped_release released;  // to those that wait for it
  while (at_work > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// The parent's threads are not here.
void forget_work() { at_work = 0; }

}  // namespace

WithoutGil::WithoutGil() {
  ++at_work;
  if (ending && pthread_equal(pthread_self(), ending_thread) == 0) {
    --at_work;
    (void)PyEval_SaveThread();
    while (true) pause();
  }
  thread_ = PyEval_SaveThread();
}

WithoutGil::~WithoutGil() {
  PyEval_RestoreThread(thread_);
  --at_work;
}

void prepare_exit() {
  static const int registered = pthread_atfork(nullptr, nullptr, &forget_work);
  if (registered != 0) throw std::bad_alloc();
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&await_work));
}

}  // namespace framewire::python
