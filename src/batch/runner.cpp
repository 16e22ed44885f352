#include <fmt/format.h>
#include <atomic>
#include <base/start_thread.hpp>
#include <batch/bounded_queue.hpp>
#include <batch/caught.hpp>
#include <batch/input_error.hpp>
#include <batch/names.hpp>
#include <batch/process.hpp>
#include <batch/runner.hpp>
#include <batch/tally.hpp>
#include <mutex>
#include <thread>
#include <vector>

namespace framewire::batch {
namespace {

/// Sees to it that every input can have a row, and to names where the source does not.
class NameCheck {
 public:
  explicit NameCheck(bool needed) : needed_(needed) {}
  /// Where the name is not usable, or was met before, the input has an error afterwards, and its
  /// label in the name's place.
  void check(Input& input) {
    ++count_;
    if (input.label.empty()) {
      input.label = input.name.empty() ? fmt::format("input {}", count_) : input.name;
    }
    const bool listed = !input.error;
    if (listed && needed_) input.error = fault_of(input);
    const bool refused = listed && input.error;
    if (refused || input.name.empty()) input.name = input.label;
  }

 private:
  std::optional<Status> fault_of(const Input& input) {
    if (auto usable = check_name(input.name); !usable) {
      return about_label(usable.error(), input.label);
    }
    if (names_.insert(input.name)) return std::nullopt;
    return Status(StatusCode::kInvalidInput,
                  fmt::format("would be written to {} like an earlier input", input.name))
        .about(input.label);
  }

  const bool needed_;
  NameSet names_;
  std::uint64_t count_ = 0;
};

class Run {
 public:
  Run(Source& source, Sink& sink, const Hooks& hooks, const Settings& settings,
      const RunOptions& with)
      : source_(source),
        sink_(sink),
        hooks_(hooks),
        settings_(settings),
        with_(with),
        context_{&source,
                 &sink,
                 &settings,
                 with.manifest != nullptr ? with.manifest->done() : nullptr,
                 with.manifest != nullptr,
                 output_hash(settings.options)},
        tally_(with),
        queue_(std::size_t{2} * settings.jobs * settings.group, settings.group) {}

  Result<Summary> operator()() {
    if (auto begun = begin(); !begun) return fail(begun.error());
    // Also where memory runs out for what is said: threads that run are joined.
    const auto started = caught([&] { return start_threads(); });
    if (started) {
      guarded([&] { tally_.report(); });
      produce();
      queue_.close();
    }
    join();
    auto finished = caught([&] { return sink_.finish(); });
    if (!started) return fail(started.error());
    guarded([&] { tally_.report(); });
    if (!stopped_by_) stopped_by_ = std::move(listing_error_);
    if (!stopped_by_ && !finished) stopped_by_ = std::move(finished.error());
    return tally_.summarise(settings_.jobs, interrupted(), std::move(stopped_by_));
  }

 private:
  Result<void> begin() {
    return caught([&] {
      BeginSink begin;
      if (with_.manifest != nullptr) begin.no_outputs = with_.manifest->files();
      begin.resumed = context_.done != nullptr;
      return sink_.begin(begin);
    });
  }

  Result<void> start_threads() {
    Result<void> started;
    for (unsigned i = 0; i < settings_.jobs && started; ++i) {
      started = base::add_thread(threads_, "fw-batch", [this] { work(); });
    }
    if (started && with_.count_ahead != nullptr) {
      started = base::add_thread(threads_, "fw-count", [this] { count_ahead(); });
    }
    if (started) return started;
    stop_ = true;
    queue_.abandon();
    return fail(StatusCode::kBusy,
                fmt::format("of {} jobs: {}", settings_.jobs, started.error().message()));
  }

  void join() {
    for (std::thread& thread : threads_) thread.join();
  }

  // What was listed before the listing ended is done, however it ended.
  void produce() {
    guarded([&] {
      NameCheck names(!source_.checks_names());
      std::uint64_t total = 0;
      while (!ending()) {
        auto input = caught([&] { return source_.next(); });
        if (!input) {
          listing_error_ = std::move(input.error());
          return;
        }
        if (!*input) {
          if (with_.count_ahead != nullptr) tally_.set_total(total);
          return;
        }
        if (!in_shard(settings_.shard, **input)) continue;
        ++total;
        names.check(**input);
        queue_.push(std::move(**input));
      }
    });
    listed_ = true;
  }

  // Inputs that are queued when the end comes early are left for --resume.
  void work() {
    guarded([&] {
      // An input's output is in its place by now, so it counts and has its row whatever became of
      // the rows before it.
      Pipeline pipeline(context_, hooks_, [this](const Processed& processed) {
        guarded([&] {
          if (processed.row) record(*processed.row, processed.environment);
        });
        guarded([&] { tally_.add(processed); });
      });
      for (;;) {
        std::vector<Input> inputs = pipeline.busy() ? queue_.pop_group() : queue_.pop_some();
        if (ending()) queue_.abandon();
        if (ending() || inputs.empty()) {
          if (!pipeline.busy()) return;
          pipeline.flush();
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
    auto good = caught([&]() -> Result<void> {
      body();
      return {};
    });
    if (!good) stop(std::move(good.error()));
  }

  void record(const Row& row, bool environment) {
    if (environment) stop(row.error);
    if (settings_.stop_on_error && row.outcome == Outcome::kFailed) stop(std::nullopt);
    if (with_.manifest == nullptr) return;
    if (auto written = with_.manifest->append(row); !written) stop(written.error());
  }

  // The first reason is the one that counts.
  void stop(std::optional<Status> reason) noexcept {
    const std::lock_guard lock(stop_mutex_);
    if (!stopped_by_) stopped_by_ = std::move(reason);
    stop_ = true;
    queue_.abandon();
  }

  void count_ahead() {
    guarded([&] {
      std::uint64_t total = 0;
      for (;;) {
        const auto input = caught([&] { return with_.count_ahead->next(); });
        // Without its end there is no total; one that is slower than the run has none to tell.
        if (ending() || listed_ || !input) return;
        if (!*input) break;
        if (in_shard(settings_.shard, **input)) ++total;
      }
      tally_.set_total(total);
    });
  }

  [[nodiscard]] bool interrupted() const noexcept { return with_.stop != nullptr && *with_.stop; }
  [[nodiscard]] bool ending() const noexcept { return stop_ || interrupted(); }

  Source& source_;
  Sink& sink_;
  const Hooks& hooks_;
  const Settings& settings_;
  const RunOptions& with_;
  const ProcessContext context_;
  Tally tally_;
  BoundedQueue<Input> queue_;
  std::vector<std::thread> threads_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> listed_{false};  ///< produce() is over
  std::mutex stop_mutex_;
  std::optional<Status> stopped_by_;
  std::optional<Status> listing_error_;
};

}  // namespace

Result<Summary> run(Source& source, Sink& sink, const Hooks& hooks, const Settings& settings,
                    const RunOptions& with) {
  return Run(source, sink, hooks, settings, with)();
}

}  // namespace framewire::batch
