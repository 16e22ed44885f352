#include <base/start_thread.hpp>
#include <new>
#include <service/http/aside_threads.hpp>
#include <utility>

namespace framewire::service::http {

Result<void> AsideThreads::start(unsigned threads) {
  Result<void> started;
  for (unsigned i = 0; i < threads && started; ++i) {
    started = base::add_thread(threads_, "fw-aside", [this] { work(); });
  }
  return started;
}

AsideThreads::~AsideThreads() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  filled_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool AsideThreads::run(std::function<void()> task) {
  try {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  } catch (const std::bad_alloc&) {
    return false;
  }
  filled_.notify_one();
  return true;
}

void AsideThreads::work() {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    try {
      task();
    } catch (...) {  // the request that it belongs to ends with its time
    }
  }
}

}  // namespace framewire::service::http
