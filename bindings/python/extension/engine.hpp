// An engine that Python may close, or find itself without after fork().
#pragma once

#include <nanobind/nanobind.h>
#include <atomic>
#include <framewire/engine.hpp>
#include <memory>
#include <mutex>

namespace framewire::python {

/// Owns an Engine for the Python objects that use it: Engine itself and its queues.
///
/// Whoever calls the engine holds it by a pointer from use(), so that close() on another thread
/// ends it only behind the last call. Thread safety: all members may be called from any number of
/// threads at once.
class EngineHandle {
 public:
  explicit EngineHandle(Engine&& engine);
  /// Answers everything that was submitted, unless this is a child of the engine's process: none of
  /// its threads exists there, so it is left as it is.
  ~EngineHandle();
  EngineHandle(const EngineHandle&) = delete;
  EngineHandle& operator=(const EngineHandle&) = delete;

  /// The engine. Raises EngineClosed behind close(), and in a child of the process that made it.
  [[nodiscard]] std::shared_ptr<Engine> use();
  /// Lets go of the engine, which then answers everything that was submitted. Does nothing in a
  /// child. Call without the GIL: it waits.
  void close();
  /// Whether this process was made by fork() from the one that made the engine.
  [[nodiscard]] bool forked() const noexcept;
  /// Whether it is worth polling for an answer: with devices, where hardly anybody else waits.
  [[nodiscard]] bool polls() const noexcept { return has_devices_ && waiting_ <= 2; }
  /// Calls of resize() that wait for their answers.
  [[nodiscard]] std::atomic<int>& waiting() noexcept { return waiting_; }

 private:
  const unsigned fork_count_;
  std::mutex mutex_;  // of engine_. The GIL is never asked for, nor Python called, under it
  std::shared_ptr<Engine> engine_;
  bool has_devices_ = false;
  std::atomic<int> waiting_ = 0;
};

/// Adds Engine to the module.
void bind_engine(nanobind::module_& module);

}  // namespace framewire::python
