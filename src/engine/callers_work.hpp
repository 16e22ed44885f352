// Requests that a thread answers itself, from within submit().
#pragma once

#include <engine/work_list.hpp>
#include <utility>

namespace framewire::engine {

/// Marks that the calling thread is answering requests of an engine, as long as this lives; one
/// thread may be within several engines. A callback that submits to the same engine leaves its
/// requests in `waiting`, for the loop that called it: if each such call answered its own, a chain
/// of callbacks would nest until the stack overflows.
class CallersWork {
 public:
  explicit CallersWork(const void* engine) noexcept
      : engine_(engine), outer_(std::exchange(innermost_, this)) {}
  ~CallersWork() { innermost_ = outer_; }
  CallersWork(const CallersWork&) = delete;
  CallersWork& operator=(const CallersWork&) = delete;

  /// What the calling thread is answering of this engine's; null: nothing.
  [[nodiscard]] static CallersWork* find(const void* engine) noexcept {
    CallersWork* found = innermost_;
    while (found != nullptr && found->engine_ != engine) found = found->outer_;
    return found;
  }

  WorkList waiting;

 private:
  static inline thread_local CallersWork* innermost_ = nullptr;
  const void* const engine_;
  CallersWork* const outer_;
};

}  // namespace framewire::engine
