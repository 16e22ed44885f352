#include <nanobind/nanobind.h>
#include <algorithm>
#include <extension/completions.hpp>
#include <extension/without_gil.hpp>
#include <utility>

namespace framewire::python {
namespace nb = nanobind;
using Clock = std::chrono::steady_clock;

namespace {

// How long Ctrl-C may have to wait.
constexpr std::chrono::microseconds kSlice = std::chrono::milliseconds(50);

}  // namespace

std::list<Completion> wake_up() {
  std::list<Completion> completions;
  completions.push_back({kWakeTag, fail(StatusCode::kInternal, "a wake-up is no answer")});
  return completions;
}

std::function<void()> tell_of_room(std::shared_ptr<CompletionQueue> queue) {
  auto completions = std::make_shared<std::list<Completion>>(wake_up());
  return [queue = std::move(queue), completions = std::move(completions)] {
    queue->put(std::move(*completions));
  };
}

std::vector<Completion> await_completions(EngineHandle& engine, CompletionQueue& queue,
                                          std::size_t max, std::chrono::microseconds timeout,
                                          bool interruptible) {
  if (engine.forked()) (void)engine.use();  // raises
  std::vector<Completion> taken = queue.take(max, std::chrono::microseconds(0));
  if (!taken.empty() || timeout.count() <= 0) return taken;
  const auto end = Clock::now() + timeout;
  while (taken.empty()) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now());
    if (left.count() <= 0) break;
    {
      // Of the waits that are not interruptible the package ends those that it knows at the exit.
      const WithoutGil released(interruptible ? WithoutGil::Work::kEnds : WithoutGil::Work::kWaits);
      taken = queue.take(max, interruptible ? std::min(left, kSlice) : left);
    }
    if (taken.empty() && interruptible && PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  return taken;
}

}  // namespace framewire::python
