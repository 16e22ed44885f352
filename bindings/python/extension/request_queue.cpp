#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <algorithm>
#include <chrono>
#include <extension/completions.hpp>
#include <extension/errors.hpp>
#include <extension/request_queue.hpp>
#include <extension/without_gil.hpp>
#include <limits>
#include <thread>

namespace framewire::python {
namespace nb = nanobind;
using Clock = std::chrono::steady_clock;

namespace {

std::vector<std::uint64_t> tags_of(const nb::list& tags) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(nb::len(tags));
  for (const nb::handle tag : tags) numbers.push_back(nb::cast<std::uint64_t>(tag));
  return numbers;
}

void report_ignored(nb::handle error, nb::handle where) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  PyErr_WriteUnraisable(where.ptr());
}

}  // namespace

RequestQueue::RequestQueue(std::shared_ptr<EngineHandle> engine) : engine_(std::move(engine)) {}

RequestQueue::~RequestQueue() {
  if (!engine_->forked()) {
    close();
    return;
  }
  // Locks may have been left locked by threads that this process lacks: nothing is touched.
  new std::shared_ptr<CompletionQueue>(std::move(completions_));
  new decltype(pending_)(std::move(pending_));
}

EngineRequest RequestQueue::request(std::uint64_t tag, nb::handle jpeg, const Options& options) {
  auto pending = std::make_unique<Pending>(jpeg);
  EngineRequest request{pending->input.bytes(), options.value, {}};
  request.stop = pending->stop.get_token();
  request.completions = completions_;
  request.tag = tag;
  const std::lock_guard lock(mutex_);
  pending_[tag] = std::move(pending);
  return request;
}

std::unique_ptr<RequestQueue::Pending> RequestQueue::remove(std::uint64_t tag) {
  const std::lock_guard lock(mutex_);
  auto node = pending_.extract(tag);
  return node.empty() ? nullptr : std::move(node.mapped());
}

std::size_t RequestQueue::submit(nb::list tags, nb::list jpegs, nb::object options,
                                 RequestQueue* room) {
  const auto engine = engine_->use();
  const std::vector<std::uint64_t> numbers = tags_of(tags);
  const std::size_t count = numbers.size();
  const bool each = nb::isinstance<nb::list>(options);
  const auto list = each ? nb::borrow<nb::list>(options) : nb::list();
  std::vector<EngineRequest> requests;
  requests.reserve(count);
  std::size_t taken = 0;
  // What was not handed in is no longer pending, whatever happens.
  struct Rest {
    RequestQueue& queue;
    const std::vector<std::uint64_t>& numbers;
    const std::vector<EngineRequest>& requests;
    const std::size_t& taken;
    ~Rest() {
      for (std::size_t i = taken; i < requests.size(); ++i) (void)queue.remove(numbers[i]);
    }
  } const rest{*this, numbers, requests, taken};
  for (std::size_t i = 0; i < count; ++i) {
    const nb::object one = each ? nb::object(list[i]) : options;
    requests.push_back(request(numbers[i], nb::object(jpegs[i]), nb::cast<const Options&>(one)));
  }
  std::function<void()> on_room;
  if (room != nullptr) on_room = tell_of_room(room->completions_);
  {
    const WithoutGil released;
    taken = engine->try_submit(requests, std::move(on_room));
  }
  return taken;
}

void RequestQueue::submit_one(nb::handle jpeg, const Options& options) {
  EngineRequest one = request(0, jpeg, options);
  try {
    while (true) {
      const auto engine = engine_->use();
      const bool taken = [&] {
        const WithoutGil released;
        return engine->try_submit(one, tell_of_room(completions_)).has_value();
      }();
      if (taken) return;
      (void)await_completions(*engine_, *completions_, 1, kForever, true);
    }
  } catch (...) {
    (void)remove(0);
    throw;
  }
}

nb::list RequestQueue::take(std::size_t max, std::optional<double> timeout_s, bool interruptible) {
  const double longest = std::chrono::duration<double>(kForever).count();
  const auto timeout = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::duration<double>(std::clamp(timeout_s.value_or(longest), 0.0, longest)));
  std::vector<Completion> taken =
      await_completions(*engine_, *completions_, max, timeout, interruptible);
  nb::list answers;
  auto next = taken.begin();
  try {
    while (next != taken.end()) {
      Completion& completion = *next++;
      if (completion.tag != kWakeTag) answers.append(answer_of(completion));
    }
  } catch (...) {
    // Memory has run out. Somebody waits for the others, which stay to be taken.
    completions_->put({std::make_move_iterator(next), std::make_move_iterator(taken.end())});
    throw;
  }
  return answers;
}

nb::tuple RequestQueue::answer_of(Completion& completion) {
  const auto pending = remove(completion.tag);
  if (!completion.result) {
    return nb::make_tuple(completion.tag, exception_of(completion.result.error()));
  }
  auto answer = std::make_unique<Answer>(std::move(*completion.result), std::nullopt);
  return nb::make_tuple(completion.tag, nb::cast(answer.release(), nb::rv_policy::take_ownership));
}

std::unique_ptr<Answer> RequestQueue::take_one(std::chrono::microseconds poll) {
  std::vector<Completion> taken;
  if (poll.count() > 0) {
    const WithoutGil released;
    const auto end = Clock::now() + poll;
    while (completions_->size() == 0 && Clock::now() < end) std::this_thread::yield();
  }
  // A wake-up for room that somebody else has taken may come first.
  do taken = await_completions(*engine_, *completions_, 1, kForever, true);
  while (taken.empty() || taken[0].tag == kWakeTag);
  (void)remove(0);
  if (!taken[0].result) raise(taken[0].result.error());
  return std::make_unique<Answer>(std::move(*taken[0].result), std::nullopt);
}

void RequestQueue::wake() {
  if (!engine_->forked()) completions_->put(wake_up());
}

void RequestQueue::cancel(std::uint64_t tag) {
  if (engine_->forked()) return;
  std::stop_source stop(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = pending_.find(tag); found != pending_.end()) stop = found->second->stop;
  }
  stop.request_stop();
}

void RequestQueue::cancel_all() {
  if (engine_->forked()) return;
  std::vector<std::stop_source> stops;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [tag, pending] : pending_) stops.push_back(pending->stop);
  }
  for (std::stop_source& stop : stops) stop.request_stop();
}

void RequestQueue::close() {
  if (engine_->forked()) return;
  cancel_all();
  while (under_way() > 0) {
    std::vector<Completion> taken;
    {
      const WithoutGil released;
      taken = completions_->take(std::numeric_limits<std::size_t>::max(), kForever);
    }
    for (const Completion& completion : taken) (void)remove(completion.tag);
  }
}

std::size_t RequestQueue::under_way() {
  const std::lock_guard lock(mutex_);
  return pending_.size();
}

void bind_request_queue(nb::module_& module) {
  nb::class_<RequestQueue>(module, "RequestQueue")
      .def(nb::init<std::shared_ptr<EngineHandle>>(), nb::arg("engine"))
      .def("submit", &RequestQueue::submit, nb::arg("tags"), nb::arg("jpegs"), nb::arg("options"),
           nb::arg("room").none() = nb::none())
      .def("take", &RequestQueue::take, nb::arg("max"), nb::arg("timeout_s").none() = nb::none(),
           nb::arg("interruptible") = true)
      .def("wake", &RequestQueue::wake)
      .def("cancel", &RequestQueue::cancel, nb::arg("tag"))
      .def("cancel_all", &RequestQueue::cancel_all)
      .def("close", &RequestQueue::close);
  module.def(
      "check_input", [](nb::handle jpeg) { (void)InputBuffer(jpeg); }, nb::arg("jpeg").none(),
      "Raises what RequestQueue.submit() raises for an input.");
  module.def("report_ignored", &report_ignored, nb::arg("error").none(), nb::arg("where").none(),
             "Shows an exception that nobody can catch, by sys.unraisablehook().");
}

}  // namespace framewire::python
