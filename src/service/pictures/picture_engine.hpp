// What servers need of an engine, be it in this process or in others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <framewire/engine.hpp>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace framewire::service {

/// What has become of processes that decode.
struct WorkerFigures {
  std::uint64_t alive = 0;             ///< that take requests now
  std::uint64_t resident_bytes = 0;    ///< memory of these
  std::uint64_t crashed = 0;           ///< ended by themselves, or by us for a lie or a lost GPU
  std::uint64_t lost_devices = 0;      ///< of these, killed by us since they had lost a GPU
  std::uint64_t killed = 0;            ///< by SIGKILL from outside
  std::uint64_t hung = 0;              ///< killed by us, since they answered nothing any more
  std::uint64_t failed_starts = 0;     ///< that never took a request
  std::uint64_t retries = 0;           ///< requests handed in again after a death
  std::uint64_t quarantined = 0;       ///< inputs that are refused now
  std::uint64_t refused_requests = 0;  ///< with such an input
};

/// Makes pictures. Thread safety: all members from any number of threads at once.
class PictureEngine {
 public:
  PictureEngine() = default;
  virtual ~PictureEngine() = default;
  PictureEngine(const PictureEngine&) = delete;
  PictureEngine& operator=(const PictureEngine&) = delete;

  /// As Engine::input_slice().
  [[nodiscard]] virtual Result<InputSlice> input_slice(std::size_t bytes) = 0;
  /// As Engine::register_memory(). Where it needs_stable_inputs() nothing is registered.
  [[nodiscard]] virtual Result<RegisteredMemory> register_memory(
      std::span<std::uint8_t> memory) = 0;
  /// Whether an input must stay as it is until its answer: who reads it from memory that others
  /// write to hands in a copy, in an input_slice().
  [[nodiscard]] virtual bool needs_stable_inputs() const noexcept = 0;
  /// As Engine::try_submit(), for requests with `completions`.
  [[nodiscard]] virtual std::size_t try_submit(std::span<EngineRequest> requests,
                                               std::function<void()> on_room) = 0;
  [[nodiscard]] std::size_t try_submit(std::span<EngineRequest> requests) {
    return try_submit(requests, {});
  }
  /// Waits until everything that was submitted before has been answered, and maybe for more: call
  /// it where nobody submits any longer.
  virtual void drain() = 0;
  [[nodiscard]] virtual EngineStats stats() const = 0;
  [[nodiscard]] virtual std::vector<EngineDevice> devices() const = 0;
  /// Whether requests are likely to be answered.
  [[nodiscard]] virtual bool ready() const = 0;
  /// Nothing where the engine is in this process.
  [[nodiscard]] virtual std::optional<WorkerFigures> workers() const = 0;
};

/// The engine of this process.
class OwnEngine final : public PictureEngine {
 public:
  /// @param engine  outlives this
  /// @param codec   its own: one of GPUs does nothing once all of these are lost
  explicit OwnEngine(Engine& engine, CodecKind codec = CodecKind::kAuto)
      : engine_(engine), needs_device_(codec == CodecKind::kCuda || codec == CodecKind::kNvjpeg) {}

  Result<InputSlice> input_slice(std::size_t bytes) override { return engine_.input_slice(bytes); }
  Result<RegisteredMemory> register_memory(std::span<std::uint8_t> memory) override {
    return engine_.register_memory(memory);
  }
  bool needs_stable_inputs() const noexcept override { return false; }
  using PictureEngine::try_submit;
  std::size_t try_submit(std::span<EngineRequest> requests,
                         std::function<void()> on_room) override {
    return engine_.try_submit(requests, std::move(on_room));
  }
  void drain() override { engine_.drain(); }
  EngineStats stats() const override { return engine_.stats(); }
  std::vector<EngineDevice> devices() const override { return engine_.devices(); }
  bool ready() const override {
    if (!needs_device_) return true;
    const auto all = engine_.devices();
    return std::any_of(all.begin(), all.end(), [](const EngineDevice& one) { return !one.lost; });
  }
  std::optional<WorkerFigures> workers() const override { return std::nullopt; }

 private:
  Engine& engine_;
  const bool needs_device_;
};

}  // namespace framewire::service
