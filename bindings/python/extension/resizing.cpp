#include <pthread.h>
#include <atomic>
#include <extension/buffer.hpp>
#include <extension/errors.hpp>
#include <extension/options.hpp>
#include <extension/resized.hpp>
#include <extension/resizing.hpp>
#include <extension/without_gil.hpp>
#include <framewire/resizer.hpp>

namespace framewire::python {
namespace nb = nanobind;

namespace {

// One Resizer serves all threads, so that they share its caches. It is never destroyed: threads may
// still be working when the interpreter ends.
std::atomic<const Resizer*> shared_resizer = nullptr;

// A thread that does not exist in the child may have held the Resizer's locks at fork(), so the
// child makes one of its own.
void forget_resizer() { shared_resizer = nullptr; }

const Resizer& resizer() {
  if (const Resizer* made = shared_resizer) return *made;
  auto ours = std::make_unique<const Resizer>();
  const Resizer* expected = nullptr;
  if (shared_resizer.compare_exchange_strong(expected, ours.get())) return *ours.release();
  return *expected;
}

Resized run(nb::handle jpeg, const Options& options) {
  const InputBuffer input(jpeg);
  auto resized = [&] {
    const WithoutGil released;
    return resizer().resize(input.bytes(), options.value);
  }();
  if (!resized) raise(resized.error());
  return std::move(*resized);
}

nb::bytes resize(nb::handle jpeg, const Options& options) {
  const Resized resized = run(jpeg, options);
  return nb::bytes(resized.bytes.data(), resized.bytes.size());
}

Answer* resize_with_report(nb::handle jpeg, const Options& options) {
  return new Answer(run(jpeg, options), std::nullopt);
}

}  // namespace

void bind_resizing(nb::module_& module) {
  static const int registered = pthread_atfork(nullptr, nullptr, &forget_resizer);
  if (registered != 0) throw std::bad_alloc();
  module.def("resize", &resize, nb::arg("jpeg").none(), nb::arg("options"));
  module.def("resize_with_report", &resize_with_report, nb::arg("jpeg").none(), nb::arg("options"),
             nb::rv_policy::take_ownership);
}

}  // namespace framewire::python
