#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <base/cores.hpp>
#include <chrono>
#include <extension/engine.hpp>
#include <extension/errors.hpp>
#include <extension/options.hpp>
#include <extension/request_queue.hpp>
#include <extension/resized.hpp>
#include <extension/without_gil.hpp>

namespace framewire::python {
namespace nb = nanobind;

EngineHandle::EngineHandle(Engine&& engine)
    : fork_count_(fork_count()), engine_(std::make_shared<Engine>(std::move(engine))) {
  has_devices_ = !engine_->devices().empty();
}

EngineHandle::~EngineHandle() {
  if (forked()) {
    // Never destroyed: its destructor would wait for threads of another process.
    new std::shared_ptr<Engine>(std::move(engine_));
    return;
  }
  if (!engine_) return;
  const WithoutGil released;
  engine_.reset();
}

bool EngineHandle::forked() const noexcept { return fork_count() != fork_count_; }

std::shared_ptr<Engine> EngineHandle::use() {
  // The process first: in a child the lock may have been left locked.
  if (forked()) {
    raise_closed(
        "the engine belongs to the parent of this process, and none of its threads is here; make "
        "an engine in each process, after fork()");
  }
  std::shared_ptr<Engine> engine;
  {
    const std::lock_guard lock(mutex_);
    engine = engine_;
  }
  if (!engine) raise_closed("the engine is closed; make another one");
  return engine;
}

void EngineHandle::close() {
  if (forked()) return;
  std::shared_ptr<Engine> last;
  const std::lock_guard lock(mutex_);
  last.swap(engine_);
}

namespace {

std::shared_ptr<EngineHandle> make(std::string_view codec, std::vector<int> devices,
                                   std::uint64_t gpu_memory, std::uint64_t warm, unsigned streams,
                                   unsigned max_batch, std::uint32_t batch_wait_us,
                                   unsigned threads, std::size_t queue, bool few_images, bool timed,
                                   std::uint64_t profile_memory) {
  ResizeOptions parsed;
  if (const auto set = set_option(parsed, "codec", codec); !set) raise(set.error());
  EngineOptions options;
  options.codec = parsed.codec;
  options.devices = std::move(devices);
  options.gpu_memory_bytes = gpu_memory;
  options.warm_bytes = warm;
  options.streams = streams;
  options.max_batch = max_batch;
  options.batch_wait_us = batch_wait_us;
  options.threads = threads;
  options.queue = queue;
  options.few_images = few_images;
  options.timed = timed;
  options.profile_bytes = profile_memory;
  auto engine = [&] {
    const WithoutGil released;
    return Engine::make(options);
  }();
  if (!engine) raise(engine.error());
  return std::make_shared<EngineHandle>(std::move(*engine));
}

nb::object stats(EngineHandle& self) {
  const EngineStats stats = self.use()->stats();
  nb::list stages;
  for (const StageTotal& stage : stats.stages) {
    stages.append(nb::make_tuple(text(stage.name), stage.us));
  }
  nb::list kept;
  for (const KeptMemory& memory : stats.kept) {
    kept.append(nb::make_tuple(text(memory.name), memory.bytes, memory.bound_bytes, memory.hits,
                               memory.misses));
  }
  const ProfileStats& profiles = stats.profiles;
  return nb::make_tuple(stats.gpu_images, stats.host_images, stats.fallbacks, stats.failures,
                        stats.batches, stats.device_bytes, stats.pinned_bytes, stages,
                        nb::make_tuple(profiles.kept, profiles.bytes, profiles.hits,
                                       profiles.misses, profiles.prepared),
                        kept);
}

nb::list devices(EngineHandle& self) {
  nb::list devices;
  for (const EngineDevice& device : self.use()->devices()) {
    devices.append(nb::make_tuple(device.ordinal, text(device.name), device.lost));
  }
  return devices;
}

Answer* resize(const std::shared_ptr<EngineHandle>& self, nb::handle jpeg, const Options& options) {
  constexpr std::chrono::microseconds kPoll{1000};  // as Engine::resize() does
  ++self->waiting();
  struct Done {
    EngineHandle& handle;
    ~Done() { --handle.waiting(); }
  } const done{*self};
  RequestQueue queue(self);
  queue.submit_one(jpeg, options);
  return queue.take_one(self->polls() ? kPoll : std::chrono::microseconds(0)).release();
}

}  // namespace

void bind_engine(nb::module_& module) {
  nb::class_<EngineHandle>(module, "Engine")
      .def(nb::new_(&make), nb::arg("codec"), nb::arg("devices"), nb::arg("gpu_memory"),
           nb::arg("warm"), nb::arg("streams"), nb::arg("max_batch"), nb::arg("batch_wait_us"),
           nb::arg("threads"), nb::arg("queue"), nb::arg("few_images"), nb::arg("timed"),
           nb::arg("profile_memory"))
      .def(
          "check", [](EngineHandle& self) { (void)self.use(); },
          "Raises EngineClosed if the engine is closed, or another process' before fork().")
      .def("forked", &EngineHandle::forked)
      .def("resize", &resize, nb::arg("jpeg").none(), nb::arg("options"),
           nb::rv_policy::take_ownership)
      .def("stats", &stats)
      .def("devices", &devices)
      .def("no_device_reason",
           [](EngineHandle& self) { return text(self.use()->no_device_reason()); })
      .def("close", &EngineHandle::close, nb::call_guard<WithoutGil>());
  module.def("usable_cores", &base::usable_cores,
             "How many host threads an engine starts where it is told no number.");
}

}  // namespace framewire::python
