#include <chrono>
#include <engine/device_lanes.hpp>
#include <engine/dispatcher.hpp>
#include <engine/input_pool.hpp>
#include <framewire/engine.hpp>
#include <latch>
#include <new>
#include <thread>
#include <utility>

namespace framewire {
namespace {

/// How long a caller who is nearly alone looks for the answer before sleeping: longer than a GPU
/// needs for most pictures. Being woken costs some 50 µs.
constexpr std::chrono::milliseconds kPolling{1};

}  // namespace

class Engine::Impl {
 public:
  std::unique_ptr<engine::InputPool> slices;
  std::unique_ptr<engine::Dispatcher> dispatcher;
  std::string no_device_reason;
};

namespace {

/// A block that goes back to its store.
struct KeptBlock {
  KeptBlock(std::shared_ptr<engine::InputStore> from, engine::InputStore::Block taken)
      : store(std::move(from)), block(std::move(taken)) {}
  ~KeptBlock() { store->give_back(std::move(block)); }
  KeptBlock(const KeptBlock&) = delete;
  KeptBlock& operator=(const KeptBlock&) = delete;

  std::shared_ptr<engine::InputStore> store;
  engine::InputStore::Block block;
};

Result<InputSlice> take_block(const std::shared_ptr<engine::InputStore>& store, std::size_t bytes) {
  auto block = store->take(bytes);
  if (!block) return fail(block.error());
  const std::span memory(block->memory.get(), bytes);
  return InputSlice{memory, std::make_shared<const KeptBlock>(store, std::move(*block))};
}

}  // namespace

class InputMemory::Impl {
 public:
  explicit Impl(std::shared_ptr<engine::InputStore> store) : store_(std::move(store)) {}
  ~Impl() {
    if (block_.memory != nullptr) store_->give_back(std::move(block_));
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] Result<std::span<std::uint8_t>> take(std::size_t bytes) {
    auto block = store_->take(bytes);
    if (!block) return fail(block.error());
    block_ = std::move(*block);
    return std::span(block_.memory.get(), bytes);
  }

 private:
  std::shared_ptr<engine::InputStore> store_;
  engine::InputStore::Block block_;
};

InputMemory::InputMemory() noexcept = default;
InputMemory::InputMemory(std::unique_ptr<Impl> impl, std::span<std::uint8_t> bytes) noexcept
    : impl_(std::move(impl)), bytes_(bytes) {}
InputMemory::~InputMemory() = default;
InputMemory::InputMemory(InputMemory&& other) noexcept
    : impl_(std::move(other.impl_)), bytes_(std::exchange(other.bytes_, {})) {}
InputMemory& InputMemory::operator=(InputMemory&& other) noexcept {
  impl_ = std::move(other.impl_);
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

class RegisteredMemory::Impl {
 public:
  explicit Impl(std::shared_ptr<engine::InputStore> store) : store_(std::move(store)) {}
  ~Impl() {
    if (!memory_.empty()) store_->forget_registered(memory_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Once. @return as InputStore::enter_registered()
  [[nodiscard]] Result<void> enter(std::span<std::uint8_t> memory) {
    auto entered = store_->enter_registered(memory);
    if (entered) memory_ = memory;
    return entered;
  }

 private:
  std::shared_ptr<engine::InputStore> store_;
  std::span<std::uint8_t> memory_;
};

RegisteredMemory::RegisteredMemory() noexcept = default;
RegisteredMemory::RegisteredMemory(std::unique_ptr<Impl> impl,
                                   std::span<std::uint8_t> bytes) noexcept
    : impl_(std::move(impl)), bytes_(bytes) {}
RegisteredMemory::~RegisteredMemory() = default;
RegisteredMemory::RegisteredMemory(RegisteredMemory&& other) noexcept
    : impl_(std::move(other.impl_)), bytes_(std::exchange(other.bytes_, {})) {}
RegisteredMemory& RegisteredMemory::operator=(RegisteredMemory&& other) noexcept {
  impl_ = std::move(other.impl_);
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Result<Engine> Engine::make(const EngineOptions& options) try {
  ResizeOptions asked;
  asked.codec = options.codec;
  if (auto known = validate(asked); !known) return fail(known.error());
  auto impl = std::make_unique<Impl>();
  std::vector<engine::DeviceLanes> devices;
  const bool may_choose = options.codec == CodecKind::kAuto && options.devices.empty();
  if (engine::runs_on_host(options.codec)) {
    impl->no_device_reason = "the codec asked for runs on host threads";
  } else if (may_choose && options.few_images) {
    impl->no_device_reason = "there are too few images to pay for starting a GPU";
  } else if (auto found = engine::find_devices(options)) {
    devices = std::move(*found);
  } else if (!may_choose) {
    // With codec auto nobody has named a codec: what cannot be had is the device.
    Status why = found.error();
    const bool of_device = options.codec == CodecKind::kAuto;
    return fail(of_device ? std::move(why).about("device") : std::move(why));
  } else {
    impl->no_device_reason = found.error().message();
  }
  auto made = engine::Dispatcher::make(options, std::move(devices));
  if (!made && may_choose) {
    impl->no_device_reason = made.error().message();
    made = engine::Dispatcher::make(options, {});
  }
  if (!made) return fail(made.error());
  impl->dispatcher = std::move(*made);
  impl->slices = std::make_unique<engine::InputPool>(
      [store = impl->dispatcher->inputs()](std::size_t bytes) { return take_block(store, bytes); });
  return Engine(std::move(impl));
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, engine::kNoMemory);
}

Result<InputMemory> Engine::input_memory(std::size_t bytes) {
  auto owner = std::make_unique<InputMemory::Impl>(impl_->dispatcher->inputs());
  const auto taken = owner->take(bytes);
  if (!taken) return fail(taken.error());
  return InputMemory(std::move(owner), *taken);
}

Result<InputSlice> Engine::input_slice(std::size_t bytes) { return impl_->slices->take(bytes); }

Result<RegisteredMemory> Engine::register_memory(std::span<std::uint8_t> memory) try {
  auto owner = std::make_unique<RegisteredMemory::Impl>(impl_->dispatcher->inputs());
  if (auto ok = owner->enter(memory); !ok) return fail(ok.error());
  return RegisteredMemory(std::move(owner), memory);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, engine::kNoMemory);
}

void Engine::submit(std::span<const std::uint8_t> jpeg, const ResizeOptions& options,
                    Callback done) {
  EngineRequest request{jpeg, options, std::move(done)};
  impl_->dispatcher->submit({&request, 1});
}

void Engine::submit(std::span<EngineRequest> requests) { impl_->dispatcher->submit(requests); }

std::size_t Engine::try_submit(std::span<EngineRequest> requests, std::function<void()> on_room) {
  return impl_->dispatcher->try_submit(requests, std::move(on_room));
}

Result<void> Engine::try_submit(EngineRequest& request, std::function<void()> on_room) {
  if (try_submit({&request, 1}, std::move(on_room)) == 1) return {};
  return fail(StatusCode::kBusy, "as many requests as the engine holds are unanswered");
}

std::future<Result<Resized>> Engine::submit(std::span<const std::uint8_t> jpeg,
                                            const ResizeOptions& options) {
  auto promise = std::make_shared<std::promise<Result<Resized>>>();
  auto future = promise->get_future();
  // In a callback, too, the future is ready where the calling thread does the work.
  EngineRequest request{
      jpeg, options, [promise](Result<Resized> result) { promise->set_value(std::move(result)); }};
  impl_->dispatcher->submit({&request, 1}, engine::Dispatcher::Nested::kNow);
  return future;
}

Result<Resized> Engine::resize(std::span<const std::uint8_t> jpeg, const ResizeOptions& options) {
  struct Answer {
    std::latch missing{1};
    Result<Resized> result = fail(StatusCode::kInternal, "no answer");
  };
  const auto answer = std::make_shared<Answer>();
  EngineRequest request{jpeg, options, [answer](Result<Resized> made) {
                          answer->result = std::move(made);
                          answer->missing.count_down();
                        }};
  impl_->dispatcher->submit({&request, 1}, engine::Dispatcher::Nested::kNow);
  const auto until = std::chrono::steady_clock::now() + kPolling;
  while (!answer->missing.try_wait() && impl_->dispatcher->is_quiet() &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  answer->missing.wait();
  return std::move(answer->result);
}

void Engine::drain() { impl_->dispatcher->drain(); }
EngineStats Engine::stats() const { return impl_->dispatcher->stats(); }
std::vector<EngineDevice> Engine::devices() const { return impl_->dispatcher->devices(); }
const std::string& Engine::no_device_reason() const noexcept { return impl_->no_device_reason; }

}  // namespace framewire
