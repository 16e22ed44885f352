// When kernels may be set up before those in front of them have ended.
#pragma once

namespace framewire::gpu {

/// While one lives, kernels that this thread launches may be set up before the kernel in front of
/// them has ended (programmatic dependent launch, from compute capability 9.0 on): they wait in
/// await_earlier(). Spares each some 2 us, but keeps room on the device that others might use.
class EarlyLaunches {
 public:
  /// @param wanted  false: everything as ever
  explicit EarlyLaunches(bool wanted);
  ~EarlyLaunches();
  EarlyLaunches(const EarlyLaunches&) = delete;
  EarlyLaunches& operator=(const EarlyLaunches&) = delete;

  /// Whether launches of this thread are early ones.
  static bool now() noexcept;
};

}  // namespace framewire::gpu
