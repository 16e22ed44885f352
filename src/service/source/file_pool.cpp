#include <base/start_thread.hpp>
#include <service/source/fetch_error.hpp>
#include <service/source/file_pool.hpp>
#include <service/source/file_reader.hpp>

namespace framewire::service::source {

FilePool::FilePool(const SourceSettings& settings, Budget& budget, FileRoot root)
    : settings_(settings), budget_(budget), root_(std::move(root)) {}

FilePool::~FilePool() {
  {
    const std::lock_guard lock(mutex_);
    ending_.request_stop();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool FilePool::start(unsigned threads) {
  Result<void> started;
  for (unsigned i = 0; i < threads && started; ++i) {
    started = base::add_thread(threads_, "fw-files", [this] { run(); });
  }
  return !threads_.empty();
}

bool FilePool::submit(FetchJob& job) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= settings_.waiting) return false;
    queue_.push_back(std::move(job));
  } catch (const std::bad_alloc&) {
    return false;
  }
  wake_.notify_one();
  return true;
}

Fetched<Original> FilePool::read(const FetchJob& job) noexcept {
  try {
    if (ending_.stop_requested()) return fail_fetch(FetchErrorKind::kCancelled);
    if (base::Clock::now() >= job.deadline) {
      return fail_fetch(FetchErrorKind::kTimeout, "waited too long for a thread");
    }
    Body body(settings_.allocate, budget_, job.max_bytes, job.request.may_hold);
    return read_file(root_, job.url.path, job.request, {job.request.stop, job.deadline}, body);
  } catch (...) {
    return fail_fetch(FetchErrorKind::kBusy);
  }
}

void FilePool::run() noexcept {
  while (true) {
    std::list<FetchJob> job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return ending_.stop_requested() || !queue_.empty(); });
      if (queue_.empty()) return;
      job.splice(job.end(), queue_, queue_.begin());
    }
    job.front().answer(read(job.front()));
  }
}

}  // namespace framewire::service::source
