// Runs a batch: one producer, several workers, a row for every input.
#pragma once

#include <cstdint>
#include <framewire/batch.hpp>
#include <functional>
#include <span>
#include <vector>

namespace framewire::batch {

/// Results that are being made, one for each file handed over. Called once: waits for them. The
/// files' bytes are needed until then.
using PendingResults = std::function<std::vector<Result<Resized>>()>;

/// How images are made; tests put faults in here. All may be called from several threads at once.
struct Hooks {
  std::function<Result<Resized>(std::span<const std::uint8_t>, const ResizeOptions&)> resize;
  /// Begins the same for several files; may be empty.
  std::function<PendingResults(std::span<const std::span<const std::uint8_t>>,
                               const ResizeOptions&)>
      begin_all;
  /// Memory that files are read into where it can be had, to be handed over together; may be empty.
  std::function<Result<InputSlice>(std::size_t bytes)> input_memory;
};

/// What an engine gives. @param engine  lives as long as what is returned
[[nodiscard]] Hooks hooks_of(Engine& engine);
/// What another process' engine gives. @param client  lives as long as what is returned
[[nodiscard]] Hooks hooks_of(Client& client);

/// The public run(), with any hooks. @param settings  jobs and group are 1 or more
[[nodiscard]] Result<Summary> run(Source& source, Sink& sink, const Hooks& hooks,
                                  const Settings& settings, const RunOptions& with);

}  // namespace framewire::batch
