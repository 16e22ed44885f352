#include <algorithm>
#include <atomic>
#include <barrier>
#include <base/clock.hpp>
#include <cmath>
#include <commands/bench/measure.hpp>
#include <mutex>
#include <thread>

namespace framewire::app {
namespace {

using base::Clock;

class Measurement {
 public:
  Measurement(const Resizer& resizer, const std::vector<const BenchInput*>& inputs,
              const ResizeOptions& options, unsigned jobs, double seconds)
      : resizer_(resizer),
        inputs_(inputs),
        options_(options),
        wanted_us_(seconds * 1e6),
        begin_(static_cast<std::ptrdiff_t>(jobs) + 1) {}

  BenchRun operator()(unsigned jobs) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < jobs; ++i) threads.emplace_back([this] { work(); });
    start_ = Clock::now();
    begin_.arrive_and_wait();
    for (std::thread& thread : threads) thread.join();
    run_.seconds = base::elapsed_us(start_) / 1e6;
    return std::move(run_);
  }

 private:
  void work() {
    begin_.arrive_and_wait();
    BenchRun own;
    for (;;) {
      const std::uint64_t turn = next_++;
      // Only whole rounds: otherwise a run would favour the inputs that come first.
      if (turn > 0 && turn % inputs_.size() == 0 && base::elapsed_us(start_) >= wanted_us_) {
        stop_at(turn);
      }
      if (turn >= end_) break;
      resize(*inputs_[turn % inputs_.size()], own);
    }
    add(own);
  }

  void resize(const BenchInput& input, BenchRun& own) {
    const auto begin = Clock::now();
    const bool ok = resizer_.resize(input.bytes, options_).has_value();
    own.latency_ms.push_back(base::elapsed_us(begin) / 1000);
    ++own.images;
    own.bytes_in += input.bytes.size();
    if (!ok) ++own.failures;
  }

  void stop_at(std::uint64_t turn) {
    std::uint64_t end = end_;
    while (turn < end && !end_.compare_exchange_weak(end, turn)) {
    }
  }

  void add(const BenchRun& own) {
    const std::lock_guard lock(mutex_);
    run_.images += own.images;
    run_.bytes_in += own.bytes_in;
    run_.failures += own.failures;
    run_.latency_ms.insert(run_.latency_ms.end(), own.latency_ms.begin(), own.latency_ms.end());
  }

  const Resizer& resizer_;
  const std::vector<const BenchInput*>& inputs_;
  const ResizeOptions& options_;
  const double wanted_us_;
  std::barrier<> begin_;
  Clock::time_point start_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> end_{UINT64_MAX};
  std::mutex mutex_;
  BenchRun run_;
};

}  // namespace

BenchRun measure(const Resizer& resizer, const std::vector<const BenchInput*>& inputs,
                 const ResizeOptions& options, unsigned jobs, double seconds) {
  return Measurement(resizer, inputs, options, jobs, seconds)(jobs);
}

double percentile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace framewire::app
