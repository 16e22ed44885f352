// Threads of a test's that help with an image, as an engine's host threads do.
#pragma once

#include <algorithm>
#include <atomic>
#include <codec/helpers.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace framewire::test {

class HelpingThreads final : public codec::Helpers {
 public:
  /// @param wanted  tells helpers to leave; empty: never
  explicit HelpingThreads(std::size_t count, std::function<bool()> wanted = {})
      : wanted_(std::move(wanted)) {
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
  }
  ~HelpingThreads() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  [[nodiscard]] std::size_t idle() const noexcept override { return threads_.size(); }
  void invite(codec::SharedWork& work, std::size_t most) noexcept override {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    places_ = std::min(most, threads_.size());
    invited_ += places_;
    changed_.notify_all();
  }
  void dismiss(codec::SharedWork& /*work*/) noexcept override {
    std::unique_lock lock(mutex_);
    places_ = 0;
    changed_.wait(lock, [&] { return inside_ == 0; });
    work_ = nullptr;
  }
  [[nodiscard]] bool wanted_elsewhere() const noexcept override { return wanted_ && wanted_(); }

  /// How many threads have been asked, and have come, so far.
  [[nodiscard]] std::size_t invited() const { return invited_; }
  [[nodiscard]] std::size_t came() const { return came_; }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closed_ || places_ > 0; });
      if (closed_) return;
      --places_;
      ++inside_;
      ++came_;
      lock.unlock();
      work_->help();
      lock.lock();
      --inside_;
      changed_.notify_all();
    }
  }

  std::function<bool()> wanted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  codec::SharedWork* work_ = nullptr;
  std::size_t places_ = 0;
  std::size_t inside_ = 0;
  std::atomic<std::size_t> invited_{0};
  std::atomic<std::size_t> came_{0};
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::test
