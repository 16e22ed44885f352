// Programmatic dependent launch: kernels are set up before those in front of them have ended.
#pragma once

namespace framewire::gpu {

/// While an object lives, this thread's kernels are launched as programmatic dependent launches, on
/// devices of compute capability 9.0 and above: each is set up while the kernel in front of it
/// still runs, and waits in grid_dependency_sync(). Spares a launch some 2 µs, but a kernel that
/// waits occupies multiprocessors that other streams might use.
class DependentLaunches {
 public:
  /// @param wanted  false: launches stay ordinary ones
  explicit DependentLaunches(bool wanted);
  ~DependentLaunches();
  DependentLaunches(const DependentLaunches&) = delete;
  DependentLaunches& operator=(const DependentLaunches&) = delete;

  /// Whether this thread's launches are dependent ones now.
  static bool active() noexcept;
};

}  // namespace framewire::gpu
