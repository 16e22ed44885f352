#include <fmt/format.h>
#include <base/thread_name.hpp>
#include <batch/bounded_queue.hpp>
#include <batch/process.hpp>
#include <batch/runner.hpp>
#include <batch/tally.hpp>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace framewire::batch {
namespace {

class Run {
 public:
  Run(const Settings& settings, const Hooks& hooks, const Records& records,
      const std::atomic<bool>& interrupt)
      : settings_(settings),
        records_(records),
        interrupt_(interrupt),
        context_{&settings, &hooks, records.done,
                 records.manifest != nullptr || records.done != nullptr,
                 output_hash(settings.options)},
        tally_(hooks),
        queue_(std::size_t{2} * settings.jobs * settings.group, settings.group) {}

  Result<Summary> operator()(Source& source) {
    if (auto started = start_threads(); !started) {
      join();
      return fail(started.error());
    }
    tally_.report();
    produce(source);
    queue_.close();
    join();
    return tally_.finish(interrupt_, std::move(stopped_by_));
  }

 private:
  Result<void> start_threads() {
    try {
      for (unsigned i = 0; i < settings_.jobs; ++i) threads_.emplace_back([this] { work(); });
      if (records_.count_ahead != nullptr) threads_.emplace_back([this] { count_ahead(); });
    } catch (const std::system_error& error) {
      stop_ = true;
      queue_.abandon();
      return fail(StatusCode::kBusy, fmt::format("cannot start {} worker threads: {}",
                                                 settings_.jobs, error.code().message()));
    }
    return {};
  }

  void join() {
    for (std::thread& thread : threads_) thread.join();
  }

  void produce(Source& source) {
    guarded([&] {
      while (!ending()) {
        auto input = source.next();
        if (!input) return;
        if (in_shard(settings_.shard, *input)) queue_.push(std::move(*input));
      }
    });
  }

  // Inputs that are queued when the end comes early are left for --resume.
  void work() {
    base::name_thread("fw-batch");
    guarded([&] {
      Pipeline pipeline(context_, [this](const Processed& processed) {
        if (processed.row) record(*processed.row, processed.environment);
        tally_.add(processed);
      });
      for (;;) {
        std::vector<Input> inputs = pipeline.busy() ? queue_.pop_group() : queue_.pop_some();
        if (ending()) queue_.abandon();
        if (ending() || inputs.empty()) {
          if (!pipeline.busy()) return;
          pipeline.finish();
        } else {
          pipeline.add(std::move(inputs));
        }
      }
    });
  }

  // What a single input throws is its row; what is thrown around it, the whole batch cannot do
  // without.
  template <typename Body>
  void guarded(Body body) {
    try {
      body();
    } catch (const std::bad_alloc&) {
      stop(Status(StatusCode::kBusy, "memory ran out"));
    } catch (const std::exception& error) {
      stop(Status(StatusCode::kInternal, error.what()));
    }
  }

  void record(const Row& row, bool environment) {
    if (environment) stop(row.error);
    if (settings_.stop_on_error && row.outcome == Outcome::kFailed) stop(std::nullopt);
    if (records_.manifest == nullptr) return;
    if (auto written = records_.manifest->append(row); !written) stop(written.error());
  }

  // The first reason is the one that counts.
  void stop(std::optional<Status> reason) {
    const std::lock_guard lock(stop_mutex_);
    if (!stopped_by_) stopped_by_ = std::move(reason);
    stop_ = true;
    queue_.abandon();
  }

  void count_ahead() {
    base::name_thread("fw-count");
    guarded([&] {
      std::uint64_t total = 0;
      while (const auto input = records_.count_ahead->next()) {
        if (ending()) return;
        if (in_shard(settings_.shard, *input)) ++total;
      }
      tally_.set_total(total);
    });
  }

  [[nodiscard]] bool ending() const noexcept { return stop_ || interrupt_; }

  const Settings& settings_;
  const Records& records_;
  const std::atomic<bool>& interrupt_;
  const ProcessContext context_;
  Tally tally_;
  BoundedQueue<Input> queue_;
  std::vector<std::thread> threads_;
  std::atomic<bool> stop_{false};
  std::mutex stop_mutex_;
  std::optional<Status> stopped_by_;
};

}  // namespace

Result<Summary> run(Source& source, const Settings& settings, const Hooks& hooks,
                    const Records& records, const std::atomic<bool>& interrupt) {
  return Run(settings, hooks, records, interrupt)(source);
}

}  // namespace framewire::batch
