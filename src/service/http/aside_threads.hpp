// Threads for tasks that take too long for those that read sockets.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <framewire/status.hpp>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace framewire::service::http {

/// Runs tasks in the order in which they come. Thread safety: run() from any thread.
class AsideThreads {
 public:
  AsideThreads() = default;
  /// Runs what waits, then ends.
  ~AsideThreads();
  AsideThreads(const AsideThreads&) = delete;
  AsideThreads& operator=(const AsideThreads&) = delete;
  /// @return busy where not all threads could be started
  [[nodiscard]] Result<void> start(unsigned threads);

  /// @param task  what it throws is dropped
  /// @return false where memory ran out. Unbounded: whoever calls bounds what is under way
  [[nodiscard]] bool run(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> tasks_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::service::http
