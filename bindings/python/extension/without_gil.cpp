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

std::atomic<unsigned> forks = 0;

// The parent's threads are not here.
void begin_child() {
  at_work = 0;
  ++forks;
}

// Whether the interpreter ends by another thread.
bool ends_here() { return ending && pthread_equal(pthread_self(), ending_thread) == 0; }

// Counts the calling thread among those that the exit waits for. Without the GIL.
void begin_work() {
  ++at_work;
  // Whoever ends the interpreter says so before it counts: it sees this thread, or is seen here.
  if (!ends_here()) return;
  --at_work;
  stop_thread();
}

}  // namespace

void stop_thread() {
  while (true) pause();
}

WithoutGil::WithoutGil(Work work) : work_(work) {
  thread_ = PyEval_SaveThread();
  if (work_ == Work::kEnds) begin_work();
}

WithoutGil::~WithoutGil() {
  if (work_ == Work::kWaits) begin_work();
  PyEval_RestoreThread(thread_);
  --at_work;
}

unsigned fork_count() noexcept { return forks.load(std::memory_order_relaxed); }

void prepare_exit() {
  static const int registered = pthread_atfork(nullptr, nullptr, &begin_child);
  if (registered != 0) throw std::bad_alloc();
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&await_work));
}

}  // namespace framewire::python
