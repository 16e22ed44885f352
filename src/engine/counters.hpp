// What an engine has done, counted by its threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <framewire/engine.hpp>
#include <mutex>
#include <vector>

namespace framewire::engine {

/// The counts of EngineStats, under the same names. Thread-safe.
class Counters {
 public:
  std::atomic<std::uint64_t> gpu_images{0};
  std::atomic<std::uint64_t> host_images{0};
  std::atomic<std::uint64_t> fallbacks{0};
  std::atomic<std::uint64_t> failures{0};
  std::atomic<std::uint64_t> batches{0};

  /// Adds the times of one batch; all batches of an engine have the same stages.
  void add_stages(const std::vector<StageTotal>& stages);
  /// Sets the counts and the stages of `stats`, and nothing else.
  void read(EngineStats& stats) const;

 private:
  mutable std::mutex mutex_;
  std::vector<StageTotal> stages_;
};

}  // namespace framewire::engine
