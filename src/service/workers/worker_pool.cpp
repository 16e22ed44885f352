#include <fmt/format.h>
#include <algorithm>
#include <base/cores.hpp>
#include <engine/codec_router.hpp>
#include <new>
#include <service/workers/pool_state.hpp>
#include <service/workers/worker_pool.hpp>
#include <utility>

namespace framewire::service::workers {
namespace {

constexpr unsigned kMaxWorkers = 1024;

/// Threads of each worker; all cores together unless told otherwise.
unsigned threads_of(const WorkerPoolOptions& options) {
  const unsigned all = options.engine.threads != 0 ? options.engine.threads : base::usable_cores();
  return std::max(1u, (all + options.workers - 1) / std::max(1u, options.workers));
}

/// Enough that no thread waits for the next request while an answer is on its way, and few, since
/// all that a worker has in hand is suspected when it ends.
std::size_t window_of(unsigned threads) { return 2 * std::size_t{threads} + 2; }

ipc::AreaSizes sizes_of(const WorkerPoolOptions& options) {
  const auto pages = [](std::uint64_t bytes) {
    return (bytes + ipc::kPageBytes - 1) / ipc::kPageBytes * ipc::kPageBytes;
  };
  // A GPU makes batches of what it has.
  constexpr std::size_t kForGpu = 512;
  const std::size_t slots =
      engine::runs_on_host(options.engine.codec) ? 2 * window_of(threads_of(options)) : kForGpu;
  // With a GPU half of the area is for inputs that are read into it, half for copies of others.
  return {static_cast<std::uint32_t>(std::min<std::size_t>(slots, ipc::kMaxSlots)),
          2 * pages(std::max(options.max_input_bytes, ipc::kMinAreaBytes)),
          pages(std::max(options.output_bytes, ipc::kMinAreaBytes))};
}

Result<void> check(const WorkerPoolOptions& options) {
  if (options.command.empty() || options.workers == 0 || options.workers > kMaxWorkers ||
      options.engine.devices.size() > kMaxDevices) {
    return fail(
        StatusCode::kInvalidInput,
        fmt::format("found {} workers and {} devices; accepted: 1 to {} workers, and up "
                    "to {} devices",
                    options.workers, options.engine.devices.size(), kMaxWorkers, kMaxDevices));
  }
  if (auto layout = ipc::Layout::make(sizes_of(options)); !layout) return fail(layout.error());
  return {};
}

}  // namespace

WorkerPool::State::State(WorkerPoolOptions options)
    : options_(std::move(options)),
      threads_(threads_of(options_)),
      sizes_(sizes_of(options_)),
      window_(window_of(threads_)) {
  seats_.resize(options_.workers);
  for (unsigned i = 0; i < options_.workers; ++i) seats_[i].index = i;
}

WorkerPool::WorkerPool(std::unique_ptr<State> state) : state_(std::move(state)) {}
WorkerPool::~WorkerPool() = default;

Result<std::unique_ptr<WorkerPool>> WorkerPool::make(WorkerPoolOptions options) {
  if (auto good = check(options); !good) return fail(good.error());
  try {
    auto state = std::make_unique<State>(std::move(options));
    if (auto started = state->start(); !started) return fail(started.error());
    return std::unique_ptr<WorkerPool>(new WorkerPool(std::move(state)));
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "memory ran out");
  }
}

Result<InputSlice> WorkerPool::input_slice(std::size_t bytes) { return state_->input_slice(bytes); }
Result<RegisteredMemory> WorkerPool::register_memory(std::span<std::uint8_t> /*memory*/) {
  return RegisteredMemory();
}
std::size_t WorkerPool::try_submit(std::span<EngineRequest> requests,
                                   std::function<void()> /*on_room*/) {
  return state_->try_submit(requests);
}
void WorkerPool::drain() { state_->drain(); }
EngineStats WorkerPool::stats() const { return state_->stats(); }
std::vector<EngineDevice> WorkerPool::devices() const { return state_->devices(); }
bool WorkerPool::ready() const { return state_->ready(); }
std::optional<WorkerFigures> WorkerPool::workers() const { return state_->figures(); }
void WorkerPool::restart_workers() { state_->restart_workers(); }
void WorkerPool::clear_quarantine() { state_->clear_quarantine(); }

}  // namespace framewire::service::workers
