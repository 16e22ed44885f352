// Work without the GIL in threads that may still run when the interpreter ends.
#pragma once

#include <nanobind/nanobind.h>
#include <exception>
#include <type_traits>

namespace framewire::python {

/// Releases the GIL as long as it lives. As gil_scoped_release, but safe in daemon threads: before
/// Python 3.14 the interpreter ends by pthread_exit() a thread that asks for the GIL behind its
/// end, which destructors turn into an abort of the process. So the process' exit waits for work
/// that has begun, and daemon threads that begin or end work later stop here.
class WithoutGil {
 public:
  enum class Work {
    kEnds,   ///< by itself, or since the package closes its engines at the process' exit
    kWaits,  ///< perhaps for ever: the exit does not wait for it
  };
  explicit WithoutGil(Work work = Work::kEnds);
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  const Work work_;
  PyThreadState* thread_;
};

/// Stops the calling thread for good.
[[noreturn]] void stop_thread();

/// Stops the thread where it is unwound by pthread_exit(). A destructor, since a handler cannot
/// catch that while another exception is handled: std::terminate() would be called.
class StopWhereUnwound {
 public:
  StopWhereUnwound() = default;
  ~StopWhereUnwound() {
    // pthread_exit() is not counted among the exceptions.
    if (!returned_ && std::uncaught_exceptions() == before_) stop_thread();
  }
  StopWhereUnwound(const StopWhereUnwound&) = delete;
  StopWhereUnwound& operator=(const StopWhereUnwound&) = delete;
  void set_returned() noexcept { returned_ = true; }

 private:
  const int before_ = std::uncaught_exceptions();
  bool returned_ = false;
};

/// Calls what may run Python code, from any thread. Where the interpreter ends this thread
/// meanwhile, as it does to daemon threads before Python 3.14, the thread stops here: further out
/// it would meet handlers and destructors that need the GIL, and abort the process.
/// @param call  a function of CPython's, in a lambda that has nothing to destroy
// Not inlined: in a noexcept function the compiler may leave destructors out.
template <typename Call>
[[gnu::noinline]] auto call_python(const Call& call) -> decltype(call()) {
  StopWhereUnwound guard;
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    guard.set_returned();
  } else {
    const auto result = call();
    guard.set_returned();
    return result;
  }
}

/// A callable with its arguments, by call_python(). Throws what it raises.
template <typename... Arguments>
nanobind::object call_object(const nanobind::object& callable, const Arguments&... arguments) {
  const nanobind::tuple all = nanobind::make_tuple(arguments...);
  PyObject* result = call_python([&] { return PyObject_CallObject(callable.ptr(), all.ptr()); });
  if (result == nullptr) throw nanobind::python_error();
  return nanobind::steal(result);
}

/// Another number in a child after fork() than in its parent; costs no system call, as getpid()
/// does.
[[nodiscard]] unsigned fork_count() noexcept;

/// Has the process' exit wait for the work. The handler is registered before those of the package,
/// and so runs behind them.
void prepare_exit();

}  // namespace framewire::python
