// Ways of using the driver that can be compared without a new build.
#pragma once

namespace framewire::gpu {

/// For measurements and tools alone: FRAMEWIRE_GPU_EXPERIMENT, words joined by commas, read once.
/// Nothing is set in production, and results do not depend on it. docs/benchmarking.md lists the
/// words.
struct Experiments {
  bool no_graphs = false;  ///< "no-graphs": every launch by itself
  bool spin = false;       ///< "spin": lanes poll for a batch's end instead of sleeping
  /// "single-copies": no copies as one list, which compute-sanitizer's initcheck does not see.
  bool single_copies = false;
};

/// Thread-safe. Does not throw.
[[nodiscard]] const Experiments& experiments() noexcept;

}  // namespace framewire::gpu
