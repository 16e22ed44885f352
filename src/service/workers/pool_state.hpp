// All that a pool of workers consists of. Requests go from list to list: a node each, made when the
// request comes, so that nothing on their way can run out of memory.
#pragma once

#include <atomic>
#include <base/wake_event.hpp>
#include <client/local_connection.hpp>
#include <condition_variable>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <service/workers/fair_jobs.hpp>
#include <service/workers/handshake.hpp>
#include <service/workers/process.hpp>
#include <service/workers/quarantine.hpp>
#include <service/workers/worker_pool.hpp>
#include <string_view>
#include <thread>

namespace framewire::service::workers {

using Clock = base::Clock;

/// A request.
struct PoolJob {
  std::span<const std::uint8_t> jpeg;
  std::shared_ptr<const client::OptionsText> options;
  OutputSink sink;
  std::stop_token stop;
  std::shared_ptr<CompletionQueue> completions;
  std::list<Completion> completion;
  std::chrono::milliseconds allowed{};       ///< its own deadline
  Clock::time_point expires;                 ///< where it has not been handed in by then
  std::uint64_t client = 0;                  ///< EngineRequest::client
  std::size_t account = 0;                   ///< that client's
  Clock::time_point queued;                  ///< since when it waits
  std::uint32_t waited_ms = 0;               ///< before that
  Clock::time_point given;                   ///< when a worker got it last
  std::shared_ptr<std::atomic<bool>> claim;  ///< EngineRequest::claim, until it is this one's
  Clock::time_point overdue;                 ///< where a worker has not answered by then
  unsigned crashes = 0;                      ///< of workers that had it in hand
  unsigned kills = 0;                        ///< likewise, killed or stopped by a signal
  unsigned lone_kills = 0;                   ///< of these, with nothing else in hand
  bool is_suspect = false;                   ///< it is handed in alone
  Jobs::iterator place;
};

/// A worker process. What follows from `in_hand` on is under the pool's lock; the rest belongs to
/// the thread that supervises.
struct Worker {
  explicit Worker(WorkerProcess made) : process(std::move(made)) {}
  ~Worker() {
    if (receiver.joinable()) receiver.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  WorkerProcess process;
  std::optional<transport::shared::LocalPeer> socket;   ///< until it is ready
  std::shared_ptr<client::LocalConnection> connection;  ///< from then on
  std::thread receiver;
  Clock::time_point since;    ///< when it was started; when it became ready; when it was closed
  bool lends_slices = false;  ///< inputs may be read into the memory that it shares
  Clock::time_point probed;   ///< when it was last asked for a sign of life
  bool silent = false;        ///< it has owed one since then
  bool hung = false;          ///< and was killed for that
  bool stopped = false;       ///< by a signal, at that time
  bool closed = false;        ///< it was told to end
  bool ended_idle = false;    ///< it ended by itself, with nothing in hand
  bool condemned = false;     ///< and was killed since it has lost a GPU
  bool lied = false;          ///< and was killed since it has answered what no worker would

  Jobs in_hand;
  Jobs lost;                   ///< that it has not answered and will not
  bool full = false;           ///< no room for another input before the next answer
  bool gone = false;           ///< it takes nothing any more
  bool over = false;           ///< what was lost has been dealt with
  bool lost_device = false;    ///< a GPU failed; what a process has of it cannot be mended
  std::uint64_t answers = 0;   ///< given so far
  Clock::time_point answered;  ///< when the last one came
};
using WorkerPtr = std::shared_ptr<Worker>;

class WorkerPool::State {
 public:
  explicit State(WorkerPoolOptions options);
  ~State();

  /// Starts the thread that supervises, which starts the workers.
  [[nodiscard]] Result<void> start();

  [[nodiscard]] Result<InputSlice> input_slice(std::size_t bytes);
  [[nodiscard]] std::size_t try_submit(std::span<EngineRequest> requests);
  void drain();
  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] std::vector<EngineDevice> devices() const;
  [[nodiscard]] bool ready() const;
  [[nodiscard]] WorkerFigures figures() const;
  void restart_workers();
  void clear_quarantine();

 private:
  /// The place of one of the workers.
  struct Seat {
    unsigned index = 0;
    WorkerPtr current;         ///< takes requests
    WorkerPtr coming;          ///< will, once it is ready
    Clock::time_point due;     ///< when to start one, where there is none
    unsigned failures = 0;     ///< one after the other
    bool is_to_renew = false;  ///< by restart_workers()
  };
  struct Batch {
    WorkerPtr worker;
    std::vector<JobPtr> jobs;
    std::uint64_t answers = 0;  ///< that the worker had given
  };
  enum class Cause : std::uint8_t { kCrash, kHung, kKilled };

  // Requests: pool_requests.cpp.
  [[nodiscard]] JobPtr make_job(EngineRequest& request);
  void pump() noexcept;
  [[nodiscard]] std::vector<Batch> assign(Jobs& superseded);
  void assign_suspect(std::vector<Batch>& batches);
  void charge(Worker& worker, const PoolJob& job, const Result<Resized>& result) noexcept;
  [[nodiscard]] Worker* least_loaded() const noexcept;
  [[nodiscard]] WorkerPtr choose(const PoolJob& job) const;
  void give(const WorkerPtr& worker, Jobs& from, Jobs::iterator job, std::vector<Batch>& batches);
  bool hand_in(const Batch& batch) noexcept;
  void answered(Worker& worker, PoolJob& job, Result<Resized> result) noexcept;
  void on_loss(Worker& worker, PoolJob& job) noexcept;
  void deliver(PoolJob& job, Result<Resized> result) noexcept;
  void deliver_all(Jobs& jobs, StatusCode code, std::string_view message) noexcept;
  void sweep(Clock::time_point now) noexcept;

  // Processes: supervisor.cpp.
  void supervise() noexcept;
  void look_after(Clock::time_point now);
  void wait();
  void look_after_seat(Seat& seat, Clock::time_point now);
  void start_worker(Seat& seat);
  void look_for_answer(Seat& seat, Clock::time_point now);
  [[nodiscard]] Result<void> welcome(Worker& worker);
  [[nodiscard]] Result<void> begin_connection(Worker& worker, ipc::SharedPages pages);
  void add_devices(const StartAnswer& answer);
  void report_end(const ProcessEnd& end, int pid, std::size_t lost) noexcept;
  void seat_worker(Seat& seat);
  void start_failed(Seat& seat, const Status& why);
  void watch(Worker& worker, Clock::time_point now);
  [[nodiscard]] bool has_ended(Worker& worker, bool expected);
  void retire(Clock::time_point now);
  void remove_serving(const Worker& worker) noexcept;
  void end_all() noexcept;
  void tell(std::string_view what, std::string_view why, int pid) noexcept;
  /// What somebody may have to look after.
  void warn(std::string_view what, std::string_view why, int pid) noexcept;
  void emit(std::string_view what, std::string_view why, int pid, bool is_failure) noexcept;

  // After a death: verdicts.cpp.
  void judge(Jobs lost, Cause cause);
  [[nodiscard]] bool is_guilty(PoolJob& job, Cause cause, bool alone);
  void convict(Jobs& lost, Jobs::iterator guilty);

  const WorkerPoolOptions options_;
  const unsigned threads_;      ///< of each worker, on the CPU
  const ipc::AreaSizes sizes_;  ///< of the memory that is shared with each
  client::OptionsTexts texts_;
  Quarantine quarantine_;
  base::WakeEvent event_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> restart_wanted_{false};
  std::atomic<std::uint64_t> crashed_{0}, killed_{0}, hung_{0}, failed_starts_{0}, retries_{0},
      lost_devices_{0}, refused_{0}, host_images_{0}, gpu_images_{0}, failures_{0};

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::vector<WorkerPtr> serving_;
  std::vector<EngineDevice> devices_;
  std::size_t window_ = 0;  ///< requests that a worker has in hand
  FairJobs queue_;          ///< not handed in yet
  Jobs suspects_;           ///< to be handed in alone
  WorkerPtr isolated_;      ///< which takes suspects, and nothing else
  std::size_t unanswered_ = 0;
  bool failing_ = false;  ///< no worker runs, and several starts of each have failed
  std::uint64_t next_ = 0;

  // Members of the thread that supervises.
  std::vector<Seat> seats_;
  std::vector<WorkerPtr> retiring_;
  std::optional<Status> first_failure_;
  std::promise<Result<void>> begun_;
  bool has_begun_ = false;
  std::thread supervisor_;
};

}  // namespace framewire::service::workers
