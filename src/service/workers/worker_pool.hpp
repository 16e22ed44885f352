// An engine made of processes: one that crashes takes no request with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <framewire/engine.hpp>
#include <functional>
#include <memory>
#include <service/pictures/picture_engine.hpp>
#include <string>
#include <vector>

namespace framewire::service::workers {

/// What a pool tells its owner, for logs.
struct WorkerEvent {
  std::string what;         ///< "worker started", "worker ended", "input quarantined", …
  std::string why;          ///< may be empty
  int pid = 0;              ///< 0 where no process is concerned
  bool is_failure = false;  ///< somebody may have to look after it
};

struct WorkerPoolOptions {
  /// Program and arguments of a worker, which calls run_worker().
  std::vector<std::string> command = {"/proc/self/exe", "serve-worker"};
  unsigned workers = 1;
  /// What all workers have together: threads are divided among them, devices that it names are
  /// dealt, and what it says of a device's memory is divided among those that have it.
  EngineOptions engine;
  std::uint64_t max_input_bytes = std::uint64_t{64} << 20;  ///< of one input
  std::uint64_t output_bytes = std::uint64_t{64} << 20;     ///< of a worker's outputs at a time
  std::uint64_t memory_bytes = 0;                ///< bound on each worker's own memory; 0: none
  bool sandbox = true;                           ///< of workers without a GPU
  std::chrono::milliseconds start_time{60'000};  ///< until a worker must be ready
  /// From its deadline on, and where it reads nothing that is put before it.
  std::chrono::milliseconds hang_time{2'000};
  /// Called by a thread of the pool's and by clear_quarantine(), perhaps by both at once: be quick,
  /// never call the pool. What it throws is ignored. May be empty.
  std::function<void(const WorkerEvent&)> on_event;
};

/// Hands requests to workers, and to others where one ends. Who decodes a file is not to be told
/// from its answer. An input that ended two workers, the second of which had nothing else in hand,
/// is refused with invalid_input from then on, for an hour at most.
///
/// Thread safety: all members from any number of threads at once.
class WorkerPool final : public PictureEngine {
 public:
  /// Starts the workers, and waits until one of them is ready.
  /// @return why none could be started; invalid_input for no worker, or for bounds that cannot be;
  ///         busy where threads or memory ran out
  [[nodiscard]] static Result<std::unique_ptr<WorkerPool>> make(WorkerPoolOptions options);
  /// Answers what is unanswered with `busy`, and ends the workers.
  ~WorkerPool() override;

  Result<InputSlice> input_slice(std::size_t bytes) override;
  /// Registers nothing: workers have memory of their own, which input_slice() gives out.
  Result<RegisteredMemory> register_memory(std::span<std::uint8_t> memory) override;
  /// It does: an input is hashed, and handed to another worker where one ends.
  bool needs_stable_inputs() const noexcept override { return true; }
  using PictureEngine::try_submit;
  /// Takes all of them, always: they wait in the pool.
  std::size_t try_submit(std::span<EngineRequest> requests, std::function<void()> on_room) override;
  void drain() override;
  EngineStats stats() const override;
  std::vector<EngineDevice> devices() const override;
  bool ready() const override;
  std::optional<WorkerFigures> workers() const override;

  /// Replaces all workers, one after the other: a new one is ready before an old one gets no more
  /// requests, and that one ends when it has answered what it has. Returns at once. Where a new one
  /// cannot be started the old ones stay.
  void restart_workers();

  /// Takes inputs again that are refused since they ended workers, and forgets what others are
  /// accused of. on_event hears of it where there were any.
  void clear_quarantine();

 private:
  class State;
  explicit WorkerPool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace framewire::service::workers
