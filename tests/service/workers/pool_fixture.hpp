// A pool over the test's worker program.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <framewire/resizer.hpp>
#include <memory>
#include <mutex>
#include <service/workers/worker_pool.hpp>
#include <string>
#include <tests/service/http/client.hpp>
#include <tests/service/local/local_server_fixture.hpp>
#include <vector>

namespace framewire::service::workers::test {

using http::test::Bytes;
using http::test::make_jpeg;
using local::test::soon;
using local::test::width;

/// A file that makes the test's worker do harm.
inline Bytes faulty(const std::string& fault, int width_px = 64) {
  Bytes bytes = make_jpeg(width_px, 48);
  const std::string mark = "fw-fault:" + fault;
  bytes.insert(bytes.end(), mark.begin(), mark.end());
  return bytes;
}

// A sanitizer's own system calls are none that the sandbox knows.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSandbox = false;
#else
constexpr bool kSandbox = true;
#endif

inline WorkerPoolOptions pool_options(unsigned workers) {
  WorkerPoolOptions options;
  options.sandbox = kSandbox;
  options.command = {FRAMEWIRE_TEST_WORKER};
  options.workers = workers;
  options.engine.codec = CodecKind::kTurbo;
  options.engine.threads = workers;
  options.max_input_bytes = std::uint64_t{2} << 20;
  options.output_bytes = std::uint64_t{4} << 20;
  return options;
}

class WorkerPoolTest : public testing::Test {
 protected:
  void start(WorkerPoolOptions options) {
    options.on_event = [this](const WorkerEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
    auto made = WorkerPool::make(std::move(options));
    ASSERT_TRUE(made) << made.error().to_string();
    pool_ = std::move(*made);
  }
  void start(unsigned workers) {
    start(pool_options(workers));
    ASSERT_TRUE(soon([&] { return pool_->workers()->alive == workers; }));
  }
  [[nodiscard]] std::vector<WorkerEvent> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  [[nodiscard]] std::vector<int> pids() const {
    std::vector<int> alive;
    for (const WorkerEvent& event : events()) {
      if (event.what == "worker started") alive.push_back(event.pid);
      if (event.what == "worker ended") std::erase(alive, event.pid);
    }
    return alive;
  }
  /// Whether a worker has ended so that its log line has these words.
  [[nodiscard]] bool told(const std::string& words) const {
    for (const WorkerEvent& event : events()) {
      if ((event.what + ": " + event.why).find(words) != std::string::npos) return true;
    }
    return false;
  }

  /// Hands in without waiting. The bytes must stay.
  void submit(const Bytes& jpeg, std::uint64_t tag, std::stop_token stop = {},
              std::uint32_t deadline_ms = 60'000) {
    EngineRequest request{jpeg, width(20), {}};
    request.options.limits.deadline_ms = deadline_ms;
    request.completions = answers_;
    request.tag = tag;
    request.stop = std::move(stop);
    ASSERT_EQ(pool_->try_submit({&request, 1}), 1u);
  }
  /// The next answer. @return nothing after a minute
  [[nodiscard]] std::optional<Completion> take() const {
    auto taken = answers_->take(1, std::chrono::minutes(1));
    if (taken.empty()) return std::nullopt;
    return std::move(taken[0]);
  }
  [[nodiscard]] Result<Resized> resize(const Bytes& jpeg) {
    submit(jpeg, 0);
    auto answer = take();
    if (!answer) return fail(StatusCode::kInternal, "no answer after a minute");
    return std::move(answer->result);
  }
  /// What one process alone makes of it.
  [[nodiscard]] static Bytes expected(const Bytes& jpeg) {
    return Resizer().resize(jpeg, width(20)).value().bytes;
  }

  mutable std::mutex mutex_;
  std::vector<WorkerEvent> events_;
  std::shared_ptr<CompletionQueue> answers_ = std::make_shared<CompletionQueue>();
  std::unique_ptr<WorkerPool> pool_;
};

}  // namespace framewire::service::workers::test
