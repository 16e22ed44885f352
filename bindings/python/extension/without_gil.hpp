// Work without the GIL in threads that may still run when the interpreter ends.
#pragma once

#include <nanobind/nanobind.h>

namespace framewire::python {

/// Releases the GIL as long as it lives, for work that ends by itself. As gil_scoped_release, but
/// safe in daemon threads: before Python 3.14 the interpreter ends by pthread_exit() a thread that
/// asks for the GIL behind its end, which destructors turn into an abort of the process. So the
/// process' exit waits for work that has begun, and daemon threads that begin later stop here.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* thread_;
};

/// Has the process' exit wait for the work. The handler is registered before those of the package,
/// and so runs behind them.
void prepare_exit();

}  // namespace framewire::python
