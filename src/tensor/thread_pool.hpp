// Threads that share the items of a batch with the thread that calls.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <framewire/status.hpp>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace framewire::tensor {

/// One run() at a time.
class ThreadPool {
 public:
  /// Called with the thread's number, 0 for the caller's, and the item's. Must not throw.
  using Task = std::function<void(std::size_t thread, std::size_t item)>;

  /// @param threads  the caller's among them, at least 1; started by the first run() that needs
  /// them
  explicit ThreadPool(std::size_t threads) : threads_wanted_(threads) {}
  /// Ends the threads, and waits for them.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Calls `task` once for each item, in their order, and returns when all of these calls have.
  /// @return busy where no thread could be started; nothing was called then
  [[nodiscard]] Result<void> run(std::size_t items, const Task& task);

 private:
  [[nodiscard]] Result<void> start();
  void work(std::size_t thread);
  void take_items(std::size_t thread, std::size_t items, const Task& task);

  std::size_t threads_wanted_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable begin_;
  std::condition_variable end_;
  std::uint64_t batch_ = 0;  ///< under mutex_, as all below but next_
  std::size_t items_ = 0;
  const Task* task_ = nullptr;
  std::size_t at_work_ = 0;
  bool stopping_ = false;
  std::atomic<std::size_t> next_{0};
};

}  // namespace framewire::tensor
