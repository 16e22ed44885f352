// An engine whose threads are all busy for as long as a test wants.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <framewire/engine.hpp>
#include <memory>

namespace framewire::test {

/// Holds threads of an engine, each within the answer to a request of its own: what is handed in
/// meanwhile waits in the queue.
class HeldEngine {
 public:
  /// Returns once they are held. @param threads  all that the engine has; it does nothing else now
  HeldEngine(Engine& engine, int threads) : state_(std::make_shared<State>()) {
    static constexpr std::uint8_t kNoJpeg = 0;
    for (int i = 0; i < threads; ++i) {
      EngineRequest request;
      request.jpeg = {&kNoJpeg, 1};
      request.done = [state = state_](const Result<Resized>&) {
        ++state->held;
        state->held.notify_all();
        state->held_back.wait(true);
      };
      engine.submit({&request, 1});
      for (int held = state_->held; held <= i; held = state_->held) state_->held.wait(held);
    }
  }
  ~HeldEngine() { release(); }
  HeldEngine(const HeldEngine&) = delete;
  HeldEngine& operator=(const HeldEngine&) = delete;

  void release() {
    state_->held_back = false;
    state_->held_back.notify_all();
  }

 private:
  struct State {
    std::atomic<int> held{0};
    std::atomic<bool> held_back{true};
  };
  std::shared_ptr<State> state_;
};

}  // namespace framewire::test
