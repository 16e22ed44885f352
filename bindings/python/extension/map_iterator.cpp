#include <nanobind/stl/shared_ptr.h>
#include <algorithm>
#include <chrono>
#include <extension/completions.hpp>
#include <extension/errors.hpp>
#include <extension/map_iterator.hpp>
#include <extension/resized.hpp>
#include <extension/without_gil.hpp>
#include <new>
#include <thread>
#include <utility>

namespace framewire::python {
namespace nb = nanobind;
using Clock = std::chrono::steady_clock;

namespace {

// Inputs that are handed in together, so that they can share a batch.
constexpr std::size_t kMaxGroup = 32;
// A source that is slower than this is not waited for while others could already be worked on.
constexpr std::chrono::milliseconds kGroupWait{1};
// To be woken costs the kernel and the caches 10 to 50 µs. Where answers come about that often, a
// thread that was woken waits for some more, while the engine still has kFewUnderWay at least.
constexpr std::chrono::microseconds kLinger{100};
constexpr std::size_t kFewUnderWay = 8;
// Where the source is slow, an answer under way is waited for, before it is asked again, for this
// part of the time that it took: then answers seldom wait for the source, which is delayed by no
// more.
constexpr int kPatience = 8;

[[noreturn]] void raise_busy() {
  PyErr_SetString(PyExc_ValueError, "another thread, or the source itself, is in this iterator");
  throw nb::python_error();
}

// Marks the iterator as entered, which a second thread, or the source, must not do as well.
class Turn {
 public:
  explicit Turn(std::atomic<bool>& busy) : busy_(busy) {
    if (busy_.exchange(true, std::memory_order_acquire)) raise_busy();
  }
  ~Turn() { busy_.store(false, std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::atomic<bool>& busy_;
};

}  // namespace

MapIterator::MapIterator(std::shared_ptr<EngineHandle> engine, nb::object owner, nb::object source,
                         nb::object options, nb::object parse, Settings settings)
    : engine_(std::move(engine)),
      owner_(std::move(owner)),
      source_(std::move(source)),
      options_object_(std::move(options)),
      options_(nb::cast<const Options&>(options_object_)),
      parse_(std::move(parse)),
      settings_(settings),
      group_(std::clamp<std::size_t>(settings.window / 8, 1, kMaxGroup)) {}

MapIterator::~MapIterator() {
  if (engine_->forked()) {
    // Its lock may have been left locked by a thread that this process lacks.
    new std::shared_ptr<CompletionQueue>(completions_);
    return;
  }
  stop_and_drain();
}

nb::object MapIterator::next() {
  const Turn turn(busy_);
  if (ended_) return {};
  nb::object answer;
  try {
    // Here, since list() and its like look for no signals, nor does a wait that ends at once.
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (engine_->forked()) (void)engine_->use();  // raises: what is ready is the parent's to give
    answer = advance();
  } catch (...) {
    stop_and_drain();
    throw;
  }
  if (!answer.is_valid()) stop_and_drain();
  return answer;
}

void MapIterator::close() {
  const Turn turn(busy_);
  stop_and_drain();
}

nb::object MapIterator::advance() {
  // Answers that are there go before the source, unless it is quick and the engine needs more.
  if (!servable() && (is_slow() || under_way_ >= settings_.window / 2)) {
    put_ready(collect(std::chrono::microseconds(0)));
  }
  while (true) {
    if (servable()) return give();
    // A group, not an input: to hand in one costs as much as to hand in several.
    try {
      if (has_room_for(group_) || (under_way_ == 0 && ready_.empty())) read_group();
    } catch (nb::python_error& raised) {
      end_with(raised);
    }
    try {
      hand_in();
    } catch (nb::python_error& raised) {
      end_with(raised);
      drop_unsent();
    }
    if (under_way_ == 0 && ready_.empty() && exhausted_ && unsent_.empty()) {
      if (end_.is_valid()) raise_object(end_);
      return {};
    }
    take();
  }
}

void MapIterator::end_with(nb::python_error& raised) {
  // KeyboardInterrupt and its like wait for nothing, and in a child after fork() nobody answers.
  if (!raised.matches(PyExc_Exception) || engine_->forked()) throw;
  end_ = nb::borrow(raised.value());
  if (const nb::object traceback = nb::borrow(raised.traceback()); traceback.is_valid()) {
    (void)PyException_SetTraceback(end_.ptr(), traceback.ptr());
  }
  exhausted_ = true;
}

void MapIterator::drop_unsent() {
  if (unsent_.empty()) return;
  // Answers are missing from here on: in order, none behind them may be given.
  const auto first = static_cast<std::size_t>(slots_[unsent_.front()].index - given_);
  if (settings_.ordered && ready_.size() > first) ready_.resize(first);
  for (const std::size_t place : unsent_) free_slot(place);
  unsent_.clear();
}

bool MapIterator::has_room_for(std::size_t inputs) const {
  return !exhausted_ && read_ - given_ + inputs <= settings_.window &&
         input_bytes_ < settings_.input_bytes;
}

bool MapIterator::servable() const {
  return !ready_.empty() && !std::holds_alternative<std::monostate>(ready_.front().answer);
}

nb::object MapIterator::give() {
  Ready ready = std::move(ready_.front());
  ready_.pop_front();
  ++given_;
  nb::object error;
  if (auto* raised = std::get_if<nb::object>(&ready.answer)) {
    error = std::move(*raised);
  } else if (auto& result = std::get<Result<Resized>>(ready.answer)) {
    auto answer = std::make_unique<Answer>(std::move(*result), ready.index);
    return nb::cast(answer.release(), nb::rv_policy::take_ownership);
  } else {
    error = exception_of(result.error());
    error.attr("index") = ready.index;
  }
  if (settings_.raises) raise_object(error);
  return error;
}

bool MapIterator::is_slow() const { return source_time_ > kGroupWait; }

// Reads up to a group of inputs, as long as the window and the source's speed allow.
void MapIterator::read_group() {
  const std::size_t most = is_slow() ? 1 : group_;
  const auto began = Clock::now();
  auto took = Clock::duration::zero();
  while (has_room_for(1) && unsent_.size() < most) {
    read_one();
    took = Clock::now() - began;
    if (took > kGroupWait) break;
  }
  // Forgotten slowly: a source that was waited for has several inputs then, and again none.
  source_time_ = std::max(took, source_time_ / 2);
}

std::chrono::microseconds MapIterator::patience() const {
  if (!is_slow() || under_way_ == 0 || servable()) return {};
  return std::chrono::duration_cast<std::chrono::microseconds>(source_time_ / kPatience);
}

void MapIterator::read_one() {
  PyObject* const source = source_.ptr();
  PyObject* const next =
      source != nullptr ? call_python([=] { return PyIter_Next(source); }) : nullptr;
  const nb::object item = nb::steal(next);
  if (!item.is_valid()) {
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    exhausted_ = true;
    return;
  }
  const std::uint64_t index = read_++;
  if (!nb::isinstance<nb::tuple>(item)) {
    enter(index, item, {});
    return;
  }
  const auto pair = nb::borrow<nb::tuple>(item);
  if (pair.size() != 2) {
    PyErr_Format(PyExc_ValueError,
                 "%sjpegs: found a tuple of %zd; accepted: a JPEG, or (jpeg, options) as (jpeg, "
                 "{\"size\": \"480x\"})",
                 said_of_input(index).c_str(), static_cast<Py_ssize_t>(pair.size()));
    throw nb::python_error();
  }
  if (!nb::hasattr(pair[1], "items")) {
    PyErr_Format(PyExc_TypeError,
                 "%sjpegs: found %R beside a JPEG; accepted: a dict of its options, as {\"size\": "
                 "\"480x\"}",
                 said_of_input(index).c_str(), reinterpret_cast<PyObject*>(Py_TYPE(pair[1].ptr())));
    throw nb::python_error();
  }
  nb::object own_options;
  try {
    own_options = call_object(parse_, nb::object(pair[1]), options_object_);
  } catch (nb::python_error& raised) {
    put_error(index, raised);
    return;
  }
  enter(index, nb::object(pair[0]), std::move(own_options));
}

void MapIterator::enter(std::uint64_t index, nb::handle jpeg, nb::object own_options) {
  const std::size_t place = take_slot();
  Slot& slot = slots_[place];
  try {
    slot.input.emplace(jpeg, index);
  } catch (nb::python_error& raised) {
    free_slot(place);
    put_error(index, raised);
    return;
  }
  input_bytes_ += slot.input->bytes().size();
  slot.index = index;
  slot.options = own_options.is_valid() ? &nb::cast<const Options&>(own_options) : &options_;
  slot.own_options = std::move(own_options);
  unsent_.push_back(place);
}

void MapIterator::hand_in() {
  if (unsent_.empty()) return;
  const auto engine = engine_->use();
  std::size_t taken = 0;
  {
    const WithoutGil released;
    std::vector<EngineRequest> requests;
    requests.reserve(unsent_.size());
    for (const std::size_t place : unsent_) {
      const Slot& slot = slots_[place];
      EngineRequest& request =
          requests.emplace_back(slot.input->bytes(), slot.options->value, Engine::Callback());
      request.stop = stop_.get_token();
      request.completions = completions_;
      request.tag = place;
    }
    taken = engine->try_submit(requests, tell_of_room(completions_));
  }
  under_way_ += taken;
  unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(taken));
}

// Takes the answers that are there; waits for some only where nothing else can be done, and a
// little where the source is slow.
void MapIterator::take() {
  const bool idle = !has_room_for(group_) || !unsent_.empty();
  const bool wait = idle && !servable() && (under_way_ > 0 || !unsent_.empty());
  std::vector<Completion> taken = collect(wait ? kForever : patience());
  if (wait) linger(taken);
  put_ready(std::move(taken));
}

std::vector<Completion> MapIterator::collect(std::chrono::microseconds timeout) {
  return await_completions(*engine_, *completions_, settings_.window, timeout, true);
}

void MapIterator::put_ready(std::vector<Completion> taken) {
  // First what close() relies on, whatever runs out of memory behind it.
  std::erase_if(taken, [](const Completion& completion) { return completion.tag == kWakeTag; });
  under_way_ -= taken.size();
  for (Completion& completion : taken) {
    const auto place = static_cast<std::size_t>(completion.tag);
    completion.tag = slots_[place].index;
    free_slot(place);
  }
  for (Completion& completion : taken) put_ready(completion.tag, std::move(completion.result));
}

void MapIterator::linger(std::vector<Completion>& taken) {
  const auto now = Clock::now();
  const auto since = now - std::exchange(last_wait_, now);
  const std::uint64_t answered = read_ - under_way_ - unsent_.size();
  const std::uint64_t count = answered - std::exchange(answered_at_last_wait_, answered);
  const bool enough = taken.size() >= kMaxGroup || under_way_ - taken.size() < kFewUnderWay;
  if (enough || since > 2 * count * kLinger) return;
  {
    const WithoutGil released;
    std::this_thread::sleep_for(kLinger);
  }
  for (Completion& more : completions_->take(settings_.window, std::chrono::microseconds(0))) {
    taken.push_back(std::move(more));
  }
}

void MapIterator::put_ready(std::uint64_t index, Answered answer) {
  if (!settings_.ordered) {
    ready_.push_back({index, std::move(answer)});
    return;
  }
  const auto place = static_cast<std::size_t>(index - given_);
  if (ready_.size() <= place) ready_.resize(place + 1);
  ready_[place] = {index, std::move(answer)};
}

void MapIterator::put_error(std::uint64_t index, nb::python_error& raised) {
  nb::object error = nb::borrow(raised.value());
  if (raised.matches(error_class("Error"))) error.attr("index") = index;
  if (!raised.matches(error_class("InvalidInput"))) throw;
  // A traceback holds what the caller may want to be rid of, and tells where options are parsed.
  error.attr("__traceback__") = nb::none();
  put_ready(index, std::move(error));
}

std::size_t MapIterator::take_slot() {
  if (free_.empty()) {
    slots_.emplace_back();
    free_.reserve(slots_.size());  // so that free_slot() needs no memory
    return slots_.size() - 1;
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  return place;
}

void MapIterator::free_slot(std::size_t place) {
  Slot& slot = slots_[place];
  slot.own_options.reset();
  if (slot.input) input_bytes_ -= slot.input->bytes().size();
  slot.input.reset();
  free_.push_back(place);
}

void MapIterator::stop_and_drain() {
  ended_ = true;
  if (engine_->forked()) return;
  if (under_way_ > 0) {
    const WithoutGil released;
    (void)stop_.request_stop();
    while (under_way_ > 0) {
      for (const Completion& completion : completions_->take(settings_.window, kForever)) {
        under_way_ -= completion.tag == kWakeTag ? 0 : 1;
      }
    }
  }
  unsent_.clear();
  free_.clear();
  std::exchange(slots_, {}).clear();  // traverse() may be called meanwhile
  ready_.clear();
  source_.reset();
  end_.reset();
}

int MapIterator::traverse(visitproc visit, void* arg) const {
  Py_VISIT(owner_.ptr());
  Py_VISIT(source_.ptr());
  Py_VISIT(end_.ptr());
  // bytes and bytearray, subclasses included, keep their memory until they are destroyed. Others,
  // as memoryview and arrays of ctypes, are not visited: the collector would have them release it
  // while the engine reads.
  for (const Slot& slot : slots_) {
    PyObject* const lender = slot.input ? slot.input->lender() : nullptr;
    if (lender != nullptr && (PyBytes_Check(lender) || PyByteArray_Check(lender))) Py_VISIT(lender);
  }
  return 0;
}

void MapIterator::clear() noexcept {
  source_.reset();
  end_.reset();
  owner_.reset();
}

namespace {

PyObject* iterate(PyObject* self) {
  Py_INCREF(self);
  return self;
}

PyObject* next_answer(PyObject* self) try {
  if (!is_made(self)) return nullptr;
  return nb::inst_ptr<MapIterator>(self)->next().release().ptr();
} catch (nb::python_error& raised) {
  raised.restore();
  return nullptr;
} catch (const nb::builtin_exception& raised) {
  const bool type = raised.type() == nb::exception_type::type_error;
  PyErr_SetString(type ? PyExc_TypeError : PyExc_ValueError, raised.what());
  return nullptr;
} catch (const std::bad_alloc&) {
  return PyErr_NoMemory();
}

int traverse_iterator(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  return nb::inst_ptr<MapIterator>(self)->traverse(visit, arg);
}

int clear_iterator(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<MapIterator>(self)->clear();
  return 0;
}

const PyType_Slot kSlots[] = {{Py_tp_iter, reinterpret_cast<void*>(&iterate)},
                              {Py_tp_iternext, reinterpret_cast<void*>(&next_answer)},
                              {Py_tp_traverse, reinterpret_cast<void*>(&traverse_iterator)},
                              {Py_tp_clear, reinterpret_cast<void*>(&clear_iterator)},
                              {0, nullptr}};

}  // namespace

void bind_map_iterator(nb::module_& module) {
  nb::class_<MapIterator>(module, "MapIterator", nb::type_slots(kSlots),
                          "The iterator over the answers of Engine.map().")
      .def(
          "__init__",
          [](MapIterator* self, std::shared_ptr<EngineHandle> engine, nb::object owner,
             nb::object source, nb::object options, nb::object parse, std::size_t window,
             std::uint64_t input_bytes, bool ordered, bool raises) {
            new (self) MapIterator(std::move(engine), std::move(owner), std::move(source),
                                   std::move(options), std::move(parse),
                                   {window, input_bytes, ordered, raises});
          },
          nb::arg("engine"), nb::arg("owner"), nb::arg("source"), nb::arg("options"),
          nb::arg("parse"), nb::arg("window"), nb::arg("input_bytes"), nb::arg("ordered"),
          nb::arg("raises"))
      .def(
          "close", &MapIterator::close,
          "Cancels what is queued and waits for what is being worked on; there are no more answers "
          "then.");
}

}  // namespace framewire::python
