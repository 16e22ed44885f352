// Stacks that one thread of the host switches between: each thread of a block has its own, so that
// it can wait in the middle of a kernel.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace cuda_emulation {

/// A stack with a function that runs on it until it waits or ends.
class Fiber {
 public:
  static constexpr std::size_t kStackBytes = 256 << 10;

  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Has `body` run at the next resume(); the last one must have ended.
  void start(const std::function<void()>& body);
  /// Runs until the body waits or ends. @return whether it has ended
  bool resume();
  /// Called from the body: goes back to who called resume().
  void wait();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuda_emulation
