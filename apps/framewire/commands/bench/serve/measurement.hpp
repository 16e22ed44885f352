// One combination of servers and clients, measured.
#pragma once

#include <commands/bench/serve/plan.hpp>
#include <commands/bench/serve/published.hpp>
#include <optional>
#include <service/mps/daemon.hpp>

namespace framewire::app::bench_serve {

/// What all measurements of one run share.
struct BenchStage {
  const ServePlan* plan = nullptr;
  std::string folder;  ///< this run's own
  std::vector<std::string> inputs;
  std::uint64_t max_input_bytes = 0;
  std::uint64_t max_output_bytes = 0;
  std::uint64_t gpu_memory_bytes = 0;  ///< of the smallest GPU, whole; 0: none, or not known
  std::optional<service::mps::Daemon> daemon;  ///< once one has been needed
};

/// Starts servers, then clients; waits until all are ready; has all begin at one moment; collects.
/// Everything has ended when it returns.
/// @return the row, without what was published. unsupported where MPS cannot be had; peer_lost
/// where
///         a process ended; deadline; cancelled
[[nodiscard]] Result<Json> measure(BenchStage& stage, const Combination& combination);

/// What has each input's output made by an engine of this machine, for comparison.
/// @return its answer: see run_engine(). As measure()
[[nodiscard]] Result<Json> make_expected(const BenchStage& stage);

}  // namespace framewire::app::bench_serve
