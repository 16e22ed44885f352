// A pool's requests: from those who ask to workers, and back.
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <base/queue_deadline.hpp>
#include <fstream>
#include <new>
#include <service/workers/pool_state.hpp>
#include <utility>

namespace framewire::service::workers {
namespace {

constexpr std::string_view kNobody = "no worker process runs";
constexpr std::string_view kSuperseded = "another request with the same claim is worked on";
// For requests that bring no deadline of their own.
constexpr std::chrono::milliseconds kAllowed{60'000};

// Whether this thread is about to hand requests to a connection. What the connection answers
// meanwhile, on this thread, it has not shown to its worker.
thread_local bool handing_in = false;
class HandingIn {
 public:
  HandingIn() : before_(std::exchange(handing_in, true)) {}
  ~HandingIn() { handing_in = before_; }
  HandingIn(const HandingIn&) = delete;
  HandingIn& operator=(const HandingIn&) = delete;

 private:
  const bool before_;
};

bool is_of_gpu(CodecKind codec) { return codec == CodecKind::kCuda || codec == CodecKind::kNvjpeg; }

/// 0 where it has ended.
std::uint64_t resident_bytes_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  std::uint64_t pages = 0;
  std::uint64_t resident_pages = 0;
  file >> pages >> resident_pages;
  return file ? resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

Result<Resized> failure(StatusCode code, std::string_view message) noexcept {
  try {
    return fail(code, std::string(message));
  } catch (...) {
    return fail(code, std::string());
  }
}

Result<Resized> late_failure() noexcept try {
  return fail(base::late_in_queue("its time passed before a worker was free"));
} catch (...) {
  return fail(StatusCode::kBusy, std::string());
}

}  // namespace

Result<InputSlice> WorkerPool::State::input_slice(std::size_t bytes) try {
  std::shared_ptr<client::LocalConnection> connection;
  {
    const std::lock_guard lock(mutex_);
    ++next_;
    const Worker* const worker = least_loaded();
    if (worker != nullptr && worker->lends_slices) connection = worker->connection;
  }
  if (connection != nullptr) {
    if (auto slice = connection->input_slice(bytes)) return slice;
  }
  // No worker that lends memory, or no room: the input is copied when it is handed in.
  const std::shared_ptr<std::uint8_t[]> memory(new std::uint8_t[bytes]);
  return InputSlice{{memory.get(), bytes}, memory};
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

/// With the lock. Those with equally much in hand take turns.
Worker* WorkerPool::State::least_loaded() const noexcept {
  Worker* best = nullptr;
  for (std::size_t i = 0; i < serving_.size(); ++i) {
    const WorkerPtr& worker = serving_[(i + next_) % serving_.size()];
    if (worker == isolated_ || worker->gone || worker->full) continue;
    if (worker->in_hand.size() >= window_) continue;
    if (best == nullptr || worker->in_hand.size() < best->in_hand.size()) best = worker.get();
  }
  return best;
}

JobPtr WorkerPool::State::make_job(EngineRequest& request) {
  auto job = std::make_shared<PoolJob>();
  job->jpeg = request.jpeg;
  job->options = texts_.find(request.options);
  job->sink = request.sink;
  job->completion.emplace_back().tag = request.tag;
  job->completions = request.completions;
  job->stop = request.stop;
  const std::uint32_t deadline_ms = request.options.limits.deadline_ms;
  job->allowed = deadline_ms == 0 ? kAllowed : std::chrono::milliseconds(deadline_ms);
  job->client = request.client;
  job->claim = request.claim;
  job->waited_ms = request.waited_ms;
  job->queued = Clock::now();
  job->expires = job->queued + job->allowed - std::chrono::milliseconds(request.waited_ms);
  return job;
}

std::size_t WorkerPool::State::try_submit(std::span<EngineRequest> requests) {
  Jobs accepted;
  Jobs refused;
  for (EngineRequest& request : requests) {
    Jobs& list = quarantine_.contains(request.jpeg) ? refused : accepted;
    const auto place = list.insert(list.end(), make_job(request));
    (*place)->place = place;
  }
  bool nobody = false;
  {
    const std::lock_guard lock(mutex_);
    unanswered_ += requests.size();
    nobody = failing_;
    if (!nobody) queue_.push_back_all(accepted);
  }
  refused_ += refused.size();
  deliver_all(refused, StatusCode::kInvalidInput, kQuarantined);
  if (nobody) deliver_all(accepted, StatusCode::kBusy, kNobody);
  pump();
  return requests.size();
}

// Hands in what there is a worker for. What fails for want of memory is tried again with the next
// answer, or by the thread that supervises.
void WorkerPool::State::pump() noexcept {
  try {
    bool again = true;
    while (again) {
      Jobs superseded;
      const std::vector<Batch> batches = [&] {
        const std::lock_guard lock(mutex_);
        return assign(superseded);
      }();
      deliver_all(superseded, StatusCode::kCancelled, kSuperseded);
      again = false;
      for (const Batch& batch : batches) again = hand_in(batch) || again;
    }
  } catch (const std::bad_alloc&) {
    event_.notify();
  }
}

/// With the lock. @param superseded  gets what another request has the claim of
std::vector<WorkerPool::State::Batch> WorkerPool::State::assign(Jobs& superseded) {
  std::vector<Batch> batches;
  if (queue_.empty() && suspects_.empty() && isolated_ == nullptr) return batches;
  batches.reserve(serving_.size());
  for (const WorkerPtr& worker : serving_) {
    batches.push_back({worker, {}, worker->answers});
    batches.back().jobs.reserve(std::min(window_, queue_.size() + 1));
  }
  assign_suspect(batches);
  while (!queue_.empty()) {
    const auto job = queue_.next();
    const WorkerPtr worker = choose(**job);
    if (worker == nullptr) break;
    const auto claim = std::exchange((*job)->claim, nullptr);
    if (claim != nullptr && claim->exchange(true)) {
      queue_.take(job, superseded, false);
      continue;
    }
    Jobs served;
    queue_.take(job, served, true);
    give(worker, served, job, batches);
  }
  std::erase_if(batches, [](const Batch& batch) { return batch.jobs.empty(); });
  return batches;
}

/// With the lock. Counts what a worker has spent on a request. A failure does not say: no longer
/// than since its last answer, or since it got the request.
void WorkerPool::State::charge(Worker& worker, const PoolJob& job,
                               const Result<Resized>& result) noexcept {
  const auto now = Clock::now();
  std::chrono::duration<double, std::micro> work = now - std::max(job.given, worker.answered);
  worker.answered = now;
  if (result) {
    const StageTimes& times = result->report.times;
    work = decltype(work)(times.parse_us + times.decode_resample_us + times.encode_us);
  } else if (result.error().code() == StatusCode::kCancelled ||
             base::is_late_in_queue(result.error())) {
    return;
  }
  constexpr double kMost_us = 600e6;  // workers may say anything
  const double work_us = work.count() > 0 ? std::min(work.count(), kMost_us) : 0;
  queue_.charge(job.client, static_cast<std::int64_t>(work_us * 1000));
}

/// With the lock. A suspect goes to a worker that has nothing else, and gets nothing else.
void WorkerPool::State::assign_suspect(std::vector<Batch>& batches) {
  if (suspects_.empty()) {
    if (isolated_ != nullptr && isolated_->in_hand.empty()) isolated_.reset();
    return;
  }
  if (isolated_ == nullptr) {
    WorkerPtr best;
    for (const WorkerPtr& worker : serving_) {
      if (worker->gone) continue;
      if (best == nullptr || worker->in_hand.size() < best->in_hand.size()) best = worker;
    }
    isolated_ = best;
  }
  if (isolated_ != nullptr && !isolated_->gone && isolated_->in_hand.empty()) {
    give(isolated_, suspects_, suspects_.begin(), batches);
  }
}

/// With the lock. The worker in whose memory the input lies, or the one with the least in hand.
WorkerPtr WorkerPool::State::choose(const PoolJob& job) const {
  Worker* best = least_loaded();
  if (best == nullptr) return nullptr;
  // A copy costs less than to wait for a worker that has much more to do.
  constexpr std::size_t kMore = 2;
  for (const WorkerPtr& worker : serving_) {
    const std::size_t has = worker->in_hand.size();
    if (worker == isolated_ || worker->gone || worker->full) continue;
    if (!worker->connection->in_area(job.jpeg)) continue;
    if (has < window_ && has <= best->in_hand.size() + kMore) best = worker.get();
  }
  return *std::ranges::find(serving_, best, &WorkerPtr::get);
}

/// With the lock. There is room in the batch for all that a worker may have in hand.
void WorkerPool::State::give(const WorkerPtr& worker, Jobs& from, Jobs::iterator job,
                             std::vector<Batch>& batches) {
  const auto now = Clock::now();
  (*job)->given = now;
  (*job)->waited_ms = base::add_waited((*job)->waited_ms, now - (*job)->queued);
  (*job)->overdue = now + (*job)->allowed + options_.hang_time;
  const auto batch = std::ranges::find(batches, worker, &Batch::worker);
  batch->jobs.push_back(*job);
  worker->in_hand.splice(worker->in_hand.end(), from, job);
}

/// @return whether those that the worker did not take should be given out again at once
bool WorkerPool::State::hand_in(const Batch& batch) noexcept {
  std::size_t taken = 0;
  Worker& worker = *batch.worker;
  try {
    std::vector<client::Order> orders(batch.jobs.size());
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const JobPtr& job = batch.jobs[i];
      orders[i].jpeg = job->jpeg;
      orders[i].options = job->options;
      orders[i].sink = job->sink;
      orders[i].client = job->client;
      orders[i].waited_ms = job->waited_ms;
      // Whoever has gone: what may have ended a worker is tried all the same.
      if (!job->is_suspect) orders[i].stop = job->stop;
      orders[i].done = [this, owner = batch.worker, job](Result<Resized> result) {
        answered(*owner, *job, std::move(result));
      };
    }
    const HandingIn marked;
    taken = worker.connection->submit(orders, false, {});
  } catch (const std::bad_alloc&) {
    event_.notify();
  }
  if (taken == batch.jobs.size()) return false;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = batch.jobs.size(); i-- > taken;) {
    PoolJob& job = *batch.jobs[i];
    if (job.is_suspect) {
      suspects_.splice(suspects_.begin(), worker.in_hand, job.place);
    } else {
      queue_.push_front(worker.in_hand, job.place);
    }
  }
  // An answer that came meanwhile has made room.
  if (worker.answers != batch.answers) return true;
  worker.full = true;
  return serving_.size() > 1;
}

/// On the thread that receives for a worker; on the one that submits where the worker has gone.
void WorkerPool::State::answered(Worker& worker, PoolJob& job, Result<Resized> result) noexcept {
  if (!result && result.error().code() == StatusCode::kPeerLost) return on_loss(worker, job);
  if (!result && result.error().code() == StatusCode::kDeviceLost) {
    {
      const std::lock_guard lock(mutex_);
      worker.lost_device = true;
    }
    return on_loss(worker, job);
  }
  Jobs mine;
  {
    const std::lock_guard lock(mutex_);
    ++worker.answers;
    worker.full = false;
    charge(worker, job, result);
    mine.splice(mine.begin(), worker.in_hand, job.place);
  }
  if (!result) {
    ++failures_;
  } else {
    ++(is_of_gpu(result->report.codec) ? gpu_images_ : host_images_);
  }
  deliver(job, std::move(result));
  pump();
}

/// The worker has gone, or will be killed. What it never saw waits for another one; what it saw
/// waits for the verdict.
void WorkerPool::State::on_loss(Worker& worker, PoolJob& job) noexcept {
  {
    const std::lock_guard lock(mutex_);
    worker.gone = true;
    const bool waits = handing_in || worker.over;
    if (waits && !job.is_suspect) {
      queue_.push_front(worker.in_hand, job.place);
    } else {
      job.queued = Clock::now();
      Jobs& to = waits ? suspects_ : worker.lost;
      to.splice(to.begin(), worker.in_hand, job.place);
    }
  }
  event_.notify();
}

void WorkerPool::State::deliver(PoolJob& job, Result<Resized> result) noexcept {
  job.completion.front().result = std::move(result);
  job.completions->put(std::move(job.completion));
  const std::lock_guard lock(mutex_);
  if (--unanswered_ == 0) idle_.notify_all();
}

void WorkerPool::State::deliver_all(Jobs& jobs, StatusCode code,
                                    std::string_view message) noexcept {
  for (const JobPtr& job : jobs) deliver(*job, failure(code, message));
  jobs.clear();
}

/// Answers what nobody waits for any more, and where no worker runs, everything.
void WorkerPool::State::sweep(Clock::time_point now) noexcept {
  Jobs late;
  Jobs left;
  Jobs helpless;
  {
    const std::lock_guard lock(mutex_);
    // An answer may have made room unnoticed.
    for (const WorkerPtr& worker : serving_) worker->full = false;
    queue_.take_if([&](const PoolJob& job) -> Jobs* {
      if (job.stop.stop_requested()) return &left;
      return job.expires <= now ? &late : nullptr;
    });
    if (failing_) {
      queue_.take_all(helpless);
      helpless.splice(helpless.end(), suspects_);
    }
  }
  deliver_all(left, StatusCode::kCancelled, "cancelled while it was queued");
  for (const JobPtr& job : late) deliver(*job, late_failure());
  late.clear();
  deliver_all(helpless, StatusCode::kBusy, kNobody);
}

void WorkerPool::State::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return unanswered_ == 0; });
}

EngineStats WorkerPool::State::stats() const {
  EngineStats stats;
  stats.host_images = host_images_;
  stats.gpu_images = gpu_images_;
  stats.failures = failures_;
  return stats;
}

std::vector<EngineDevice> WorkerPool::State::devices() const {
  const std::lock_guard lock(mutex_);
  return devices_;
}

bool WorkerPool::State::ready() const {
  const std::lock_guard lock(mutex_);
  return !serving_.empty();
}

WorkerFigures WorkerPool::State::figures() const {
  WorkerFigures figures;
  std::vector<pid_t> pids;
  {
    const std::lock_guard lock(mutex_);
    figures.alive = serving_.size();
    for (const WorkerPtr& worker : serving_) pids.push_back(worker->process.pid());
  }
  for (const pid_t pid : pids) figures.resident_bytes += resident_bytes_of(pid);
  figures.lost_devices = lost_devices_;  // first: they are among those that crashed
  figures.crashed = crashed_;
  figures.killed = killed_;
  figures.hung = hung_;
  figures.failed_starts = failed_starts_;
  figures.retries = retries_;
  figures.quarantined = quarantine_.size();
  figures.refused_requests = refused_;
  return figures;
}

}  // namespace framewire::service::workers
