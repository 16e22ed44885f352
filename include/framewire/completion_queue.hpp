// Answers of engines, taken in groups.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <framewire/export.hpp>
#include <framewire/resizer.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <list>
#include <mutex>
#include <vector>

namespace framewire {

/// One request's answer.
struct Completion {
  std::uint64_t tag = 0;  ///< EngineRequest::tag
  Result<Resized> result;
};

/// Holds answers until somebody takes them. An engine puts the answers of a batch in together, so
/// that a thread that waits is woken once a batch, not once an image.
///
/// Shared by whoever takes and by the requests that name it (EngineRequest::completions); any
/// number of engines may put into one. Unbounded: as many answers as requests named it and were not
/// taken. Thread safety: all members may be called from any number of threads at once.
class FRAMEWIRE_API CompletionQueue {
 public:
  /// @param on_ready  called, from one of an engine's threads, whenever answers come into a queue
  ///                  that is empty: be quick, never wait for an engine (write to an eventfd, say).
  ///                  What it throws is ignored. May be empty
  explicit CompletionQueue(std::function<void()> on_ready = {}) : on_ready_(std::move(on_ready)) {}
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  /// Takes the oldest answers; waits for the first one, no longer than `wait`.
  /// @param max   at most so many; 0 takes none
  /// @param wait  zero: does not block; any length, microseconds::max() waits for ever
  /// @return empty where none came in time. Throws std::bad_alloc where memory ran out; no answer
  ///         is lost then
  [[nodiscard]] std::vector<Completion> take(std::size_t max, std::chrono::microseconds wait);
  /// How many answers are waiting to be taken. Does not block.
  [[nodiscard]] std::size_t size() const;

  /// Puts answers in; engines do. Does not block; neither throws nor allocates.
  void put(std::list<Completion>&& completions) noexcept;

 private:
  const std::function<void()> on_ready_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::list<Completion> items_;
};

}  // namespace framewire
