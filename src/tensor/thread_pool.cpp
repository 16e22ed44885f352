#include <base/start_thread.hpp>
#include <tensor/thread_pool.hpp>

namespace framewire::tensor {

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Result<void> ThreadPool::start() {
  Result<void> started;
  while (threads_.size() + 1 < threads_wanted_ && started) {
    const std::size_t number = threads_.size() + 1;
    started = base::add_thread(threads_, "fw-tensor", [this, number] { work(number); });
  }
  return started;
}

void ThreadPool::take_items(std::size_t thread, std::size_t items, const Task& task) {
  for (;;) {
    const std::size_t item = next_.fetch_add(1, std::memory_order_relaxed);
    if (item >= items) return;
    task(thread, item);
  }
}

void ThreadPool::work(std::size_t thread) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begin_.wait(lock, [&] { return stopping_ || batch_ != seen; });
    if (stopping_) return;
    seen = batch_;
    const std::size_t items = items_;
    const Task& task = *task_;
    lock.unlock();
    take_items(thread, items, task);
    lock.lock();
    if (--at_work_ == 0) end_.notify_one();
  }
}

Result<void> ThreadPool::run(std::size_t items, const Task& task) {
  if (items > 1) {
    if (auto started = start(); !started) return started;
  }
  next_.store(0, std::memory_order_relaxed);
  if (items <= 1 || threads_.empty()) {
    take_items(0, items, task);
    return {};
  }
  {
    const std::lock_guard lock(mutex_);
    ++batch_;
    items_ = items;
    task_ = &task;
    at_work_ = threads_.size();
  }
  begin_.notify_all();
  take_items(0, items, task);
  std::unique_lock lock(mutex_);
  end_.wait(lock, [&] { return at_work_ == 0; });
  return {};
}

}  // namespace framewire::tensor
