// What a command resizes with: the CPU on the calling thread, or an engine with GPUs.
#pragma once

#include <backend/input_rooms.hpp>
#include <batch/runner.hpp>
#include <command_line/command.hpp>
#include <framewire/engine.hpp>
#include <framewire/resizer.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire::app {

/// The rows of the grammar that say which GPUs to use and how.
inline constexpr OptionSpec kDeviceOption{
    "device", "LIST", "", "", "GPUs to use: ordinals joined by commas, or all", "GPU"};
inline constexpr OptionSpec kGpuMemoryOption{
    "gpu-memory",
    "BYTES",
    "",
    "",
    "bound on each GPU's memory, with K, M or G; three quarters of what is free if not given",
    "GPU"};

/// Reads --device and --gpu-memory into `options`. @return what is wrong, or ""
[[nodiscard]] std::string take_gpu_options(const Arguments& arguments, EngineOptions& options);

class Backend {
 public:
  /// @param many  whether there are images enough to pay for starting a GPU: decides for kAuto
  /// @return as Engine::make()
  [[nodiscard]] static Result<Backend> make(const EngineOptions& options, bool many);

  /// Any number of threads at once.
  [[nodiscard]] Result<Resized> resize(std::span<const std::uint8_t> jpeg,
                                       const ResizeOptions& options) const;
  /// With a GPU: hands in several at once. @return waits for all of them; one result each
  [[nodiscard]] batch::PendingResults begin_all(
      std::span<const std::span<const std::uint8_t>> jpegs, const ResizeOptions& options) const;
  /// With a GPU: as Engine::input_memory().
  [[nodiscard]] Result<InputMemory> input_memory(std::size_t bytes) const {
    return engine_->input_memory(bytes);
  }
  /// With a GPU: the same in blocks; must not outlive the backend.
  [[nodiscard]] std::unique_ptr<InputRooms> input_rooms() const;
  /// With a GPU: hands it in, and answers later from a thread of the engine's. Otherwise resizes at
  /// once, on the calling thread. The bytes are kept until the answer.
  void submit(KeptBytes jpeg, const ResizeOptions& options, Engine::Callback done) const;
  [[nodiscard]] bool has_gpu() const noexcept { return engine_.has_value(); }
  [[nodiscard]] std::vector<EngineDevice> devices() const;

 private:
  Resizer resizer_;
  mutable std::optional<Engine> engine_;  ///< only with a GPU
};

}  // namespace framewire::app
