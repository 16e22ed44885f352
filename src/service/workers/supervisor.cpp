// The thread that starts workers, notices how they fare, and starts others.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>
#include <algorithm>
#include <base/passed_files.hpp>
#include <base/start_thread.hpp>
#include <exception>
#include <new>
#include <service/workers/deal.hpp>
#include <service/workers/pool_state.hpp>
#include <utility>

namespace framewire::service::workers {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kTick{100};
constexpr Milliseconds kFirstPause{100};  // after a start that failed; doubles
constexpr unsigned kMaxDoublings = 7;     // to 13 s
/// Starts that fail one after the other before requests are refused for want of a worker: until
/// then they wait. Whatever kills processes from outside may meet one that is just starting.
constexpr unsigned kHopeless = 4;
/// A worker that ends by itself so soon, with nothing in hand, counts as one that did not start.
constexpr Milliseconds kShortLife{1000};
/// How long a worker that was told to end may take.
constexpr Milliseconds kEndTime{5000};

Milliseconds pause_after(unsigned failures) {
  return kFirstPause * (1u << std::min(failures - 1, kMaxDoublings));
}

}  // namespace

void WorkerPool::State::tell(std::string_view what, std::string_view why, int pid) noexcept {
  emit(what, why, pid, /*is_failure=*/false);
}

void WorkerPool::State::warn(std::string_view what, std::string_view why, int pid) noexcept {
  emit(what, why, pid, /*is_failure=*/true);
}

void WorkerPool::State::emit(std::string_view what, std::string_view why, int pid,
                             bool is_failure) noexcept {
  if (!options_.on_event) return;
  try {
    options_.on_event({std::string(what), std::string(why), pid, is_failure});
  } catch (...) {
    // What an owner's function throws is dropped, as is what there is no memory to tell: the pool
    // has others to serve.
  }
}

Result<void> WorkerPool::State::start() {
  if (!event_.valid()) return fail(StatusCode::kBusy, "no descriptor is left for an event");
  auto begun = begun_.get_future();
  auto started = base::start_thread("fw-workers", [this] { supervise(); });
  if (!started) return fail(std::move(started.error()));
  supervisor_ = std::move(*started);
  return begun.get();
}

WorkerPool::State::~State() {
  stopping_ = true;
  event_.notify();
  if (supervisor_.joinable()) supervisor_.join();
}

void WorkerPool::State::restart_workers() {
  restart_wanted_ = true;
  event_.notify();
}

void WorkerPool::State::supervise() noexcept {
  while (!stopping_) {
    // Whatever was not done is due at the next look. What throws is nearly always memory that ran
    // out, but not by any rule: the log has it as it was thrown.
    try {
      look_after(Clock::now());
      wait();
      continue;
    } catch (const std::exception& error) {
      warn("workers not looked after", error.what(), 0);
    } catch (...) {
      warn("workers not looked after", "an exception that nobody expected", 0);
    }
    std::this_thread::sleep_for(kTick);
  }
  end_all();
}

void WorkerPool::State::look_after(Clock::time_point now) {
  if (restart_wanted_.exchange(false)) {
    for (Seat& seat : seats_) seat.is_to_renew = seat.current != nullptr;
  }
  for (Seat& seat : seats_) look_after_seat(seat, now);
  retire(now);
  const auto all_failed = [this](unsigned times) {
    return std::ranges::all_of(seats_, [times](const Seat& seat) {
      return seat.current == nullptr && seat.failures >= times;
    });
  };
  {
    const std::lock_guard lock(mutex_);
    failing_ = all_failed(kHopeless);
  }
  if (!has_begun_) {
    const bool one_runs =
        std::ranges::any_of(seats_, [](const Seat& seat) { return seat.current != nullptr; });
    if (one_runs || all_failed(1)) {
      Result<void> begun;
      if (!one_runs) {
        begun = fail(first_failure_.value_or(Status(StatusCode::kBusy, "memory ran out")));
      }
      has_begun_ = true;
      begun_.set_value(std::move(begun));
    }
  }
  sweep(now);
  pump();
}

void WorkerPool::State::wait() {
  std::vector<pollfd> files{{event_.fd(), POLLIN, 0}};
  const auto add = [&](const WorkerPtr& worker) {
    if (worker == nullptr) return;
    files.push_back({worker->process.pidfd(), POLLIN, 0});
    if (worker->socket) files.push_back({worker->socket->fd(), POLLIN, 0});
  };
  for (const Seat& seat : seats_) {
    add(seat.current);
    add(seat.coming);
  }
  for (const WorkerPtr& worker : retiring_) add(worker);
  (void)::poll(files.data(), files.size(), static_cast<int>(kTick.count()));
  event_.clear();
}

void WorkerPool::State::look_after_seat(Seat& seat, Clock::time_point now) {
  if (seat.current != nullptr) {
    watch(*seat.current, now);
    const bool was_short = now - seat.current->since < kShortLife;
    if (has_ended(*seat.current, false)) {
      const bool did_nothing = seat.current->ended_idle && was_short;
      seat.current.reset();
      seat.is_to_renew = false;
      seat.due = now;
      if (did_nothing) seat.due += pause_after(++seat.failures);
    } else if (!was_short) {
      seat.failures = 0;
    }
  }
  if (seat.coming != nullptr) look_for_answer(seat, now);
  const bool others_come = std::ranges::any_of(
      seats_, [](const Seat& other) { return other.is_to_renew && other.coming != nullptr; });
  const bool renews = seat.is_to_renew && !others_come && retiring_.empty();
  const bool lacks = seat.current == nullptr && seat.due <= now;
  if (seat.coming == nullptr && (renews || lacks)) start_worker(seat);
}

void WorkerPool::State::start_worker(Seat& seat) {
  auto process = WorkerProcess::start(options_.command);
  if (!process) return start_failed(seat, process.error());
  auto worker = std::make_shared<Worker>(std::move(*process));
  worker->socket.emplace(worker->process.take_socket());
  worker->since = Clock::now();
  StartOrder order;
  order.service = ::getpid();
  order.codec = static_cast<std::uint32_t>(options_.engine.codec);
  order.threads = static_cast<std::uint32_t>(threads_);
  order.slots = sizes_.slots;
  order.queue = sizes_.slots;
  order.input_bytes = sizes_.input_bytes;
  order.output_bytes = sizes_.output_bytes;
  const std::vector<int>& devices = options_.engine.devices;
  const std::size_t sharers = workers_of_a_device(seats_.size(), devices.size());
  order.gpu_memory_bytes = options_.engine.gpu_memory_bytes / sharers;
  order.warm_bytes = options_.engine.warm_bytes / sharers;
  order.memory_bytes = options_.memory_bytes;
  order.sandbox = options_.sandbox ? 1 : 0;
  for (const int ordinal : dealt_devices(devices, seats_.size(), seat.index)) {
    order.devices[order.device_count++] = ordinal;
  }
  if (auto sent = worker->socket->send(bytes_of(order)); !sent) {
    return start_failed(seat, sent.error());
  }
  seat.coming = std::move(worker);
}

void WorkerPool::State::look_for_answer(Seat& seat, Clock::time_point now) {
  Worker& worker = *seat.coming;
  // What it has said counts before that it has ended.
  if (auto welcomed = welcome(worker); !welcomed) {
    return start_failed(seat, welcomed.error());
  }
  if (worker.connection != nullptr) return seat_worker(seat);
  if (const auto end = worker.process.collect()) {
    return start_failed(seat, Status(StatusCode::kInternal, end->to_string()));
  }
  if (now - worker.since > options_.start_time) {
    start_failed(seat, Status(StatusCode::kInternal,
                              fmt::format("not ready after {} ms", options_.start_time.count())));
  }
}

/// Looks for the worker's answer. @return why it cannot work
Result<void> WorkerPool::State::welcome(Worker& worker) try {
  if (!worker.socket) return {};
  StartAnswer answer;
  auto message = worker.socket->receive_now(writable_bytes_of(answer));
  if (!message && message.error().code() == StatusCode::kPeerLost) {
    worker.socket.reset();  // how it has ended is known in a moment
    return {};
  }
  if (!message) return fail(message.error());
  if (!*message) return {};
  if (auto accepted = ipc::read_word(answer.word); !accepted) return fail(accepted.error());
  if (!(*message)->files[0].valid() || answer.device_count > kMaxDevices) {
    return fail(StatusCode::kInternal, "it has handed over no memory");
  }
  auto pages = ipc::SharedPages::open((*message)->files[0], sizes_);
  if (!pages) return fail(pages.error());
  // Inputs are believed: parsed, hashed for the quarantine, handed to another worker where this one
  // ends. So they stay in the service's own memory, and a worker is given copies. One with a GPU,
  // which has no sandbox to keep it from any memory of ours, shares them: a copy would cost too
  // much of the bandwidth.
  worker.lends_slices = answer.device_count != 0;
  base::refuse_files(worker.socket->fd());  // there are no more to come
  add_devices(answer);
  return begin_connection(worker, std::move(*pages));
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

/// Takes the worker's socket, whether or not there is a connection afterwards: a worker without one
/// cannot work, and is ended.
Result<void> WorkerPool::State::begin_connection(Worker& worker, ipc::SharedPages pages) {
  auto connection = std::make_shared<client::LocalConnection>(
      std::move(pages), std::move(*worker.socket),
      client::LocalConnection::Settings{.lends = worker.lends_slices});
  worker.socket.reset();
  auto receiver = base::start_thread("fw-worker-recv", [connection] { connection->receive(); });
  if (!receiver) return fail(std::move(receiver.error()));
  worker.receiver = std::move(*receiver);
  worker.connection = std::move(connection);
  return {};
}

void WorkerPool::State::add_devices(const StartAnswer& answer) {
  const std::lock_guard lock(mutex_);
  if (answer.device_count != 0) window_ = sizes_.slots / 2;
  for (std::uint32_t i = 0; i < answer.device_count; ++i) {
    const int ordinal = answer.devices[i];
    const bool known = std::ranges::any_of(
        devices_, [&](const EngineDevice& device) { return device.ordinal == ordinal; });
    if (!known) devices_.push_back({ordinal, {}, false});
  }
}

/// Gives a worker that is ready its place; who had it gets no more.
void WorkerPool::State::seat_worker(Seat& seat) {
  seat.coming->since = seat.coming->probed = Clock::now();
  // All that throws comes first, so that a worker is never in both places. There is memory for all
  // workers at once, as end_all() needs it.
  retiring_.reserve(retiring_.size() + seats_.size() + 1);
  {
    const std::lock_guard lock(mutex_);
    serving_.push_back(seat.coming);
  }
  if (seat.current != nullptr) retiring_.push_back(seat.current);
  if (seat.current != nullptr) remove_serving(*seat.current);
  seat.current = std::move(seat.coming);
  seat.is_to_renew = false;
  tell("worker started", {}, seat.current->process.pid());
}

void WorkerPool::State::remove_serving(const Worker& worker) noexcept {
  const std::lock_guard lock(mutex_);
  if (isolated_.get() == &worker) isolated_.reset();
  std::erase_if(serving_, [&](const WorkerPtr& one) { return one.get() == &worker; });
}

void WorkerPool::State::start_failed(Seat& seat, const Status& why) {
  // Below 0 where no process came to be.
  const int pid = seat.coming == nullptr ? 0 : std::max(0, seat.coming->process.pid());
  seat.coming.reset();  // which ends it
  ++failed_starts_;
  seat.due = Clock::now() + pause_after(++seat.failures);
  for (Seat& other : seats_) other.is_to_renew = false;
  const std::string text = why.code() == StatusCode::kInternal ? why.message() : why.to_string();
  // Under the worker's own code: without workers the service would end with that one.
  if (!first_failure_) first_failure_ = Status(why.code(), "no worker starts: " + text);
  warn("worker not started", text, pid);
}

/// Kills a worker that has something to do and does nothing, or is believed no more.
void WorkerPool::State::watch(Worker& worker, Clock::time_point now) {
  if (worker.hung || worker.condemned || worker.lied) return;
  worker.lied = worker.connection->server_lied();
  bool has_work = false;
  bool is_overdue = false;
  bool is_gone = false;
  {
    const std::lock_guard lock(mutex_);
    worker.condemned = worker.lost_device;
    // What it has lost waits until its process has ended, so that must not take for ever.
    for (const Jobs* jobs : {&worker.in_hand, &worker.lost}) {
      has_work = has_work || !jobs->empty();
      is_overdue = is_overdue || std::ranges::any_of(*jobs, [now](const JobPtr& job) {
                     return job->overdue <= now;
                   });
    }
    is_gone = worker.gone;
  }
  if (worker.condemned || worker.lied) {
    warn("worker killed", worker.lied ? "its answer cannot be" : "it has lost a GPU",
         worker.process.pid());
    return worker.process.kill();
  }
  if (!has_work) worker.silent = false;
  if (has_work && (!worker.silent || now - worker.probed >= kTick)) {
    const bool has_read = worker.connection->probe();
    if (has_read || !worker.silent) worker.probed = now;
    worker.silent = !has_read;
  }
  const bool is_silent = worker.silent && now - worker.probed >= options_.hang_time;
  if (is_overdue || is_silent) {
    worker.hung = true;
    worker.stopped = worker.process.is_stopped();
    warn("worker killed", is_silent ? "it reads nothing" : "it does not end a request",
         worker.process.pid());
    worker.process.kill();
  } else if ((is_gone || worker.connection->lost()) && !worker.closed) {
    worker.process.kill();  // if it has not ended already
  }
}

/// @return whether the worker is no more; what it had in hand has found its way then
bool WorkerPool::State::has_ended(Worker& worker, bool expected) {
  const int pid = worker.process.pid();
  const auto end = worker.process.collect();
  if (!end) return false;
  remove_serving(worker);
  // The socket has closed with the process: this ends once all answers have been taken.
  worker.receiver.join();
  // From here on nothing throws: who has no process and no thread any more is not looked at again.
  Jobs lost;
  {
    const std::lock_guard lock(mutex_);
    worker.over = true;
    lost.splice(lost.end(), worker.lost);
  }
  if (expected && lost.empty()) return true;
  const bool lied = worker.connection->server_lied();
  const bool killed = end->signal == SIGKILL && !worker.hung && !worker.condemned && !lied;
  // Whoever kills a worker that idles says nothing about the next one.
  worker.ended_idle = lost.empty() && !killed;
  const Cause cause = worker.hung ? Cause::kHung : killed ? Cause::kKilled : Cause::kCrash;
  ++(cause == Cause::kHung ? hung_ : cause == Cause::kKilled ? killed_ : crashed_);
  if (worker.condemned) ++lost_devices_;
  report_end(*end, pid, lost.size());
  judge(std::move(lost), worker.stopped ? Cause::kKilled : cause);
  return true;
}

void WorkerPool::State::report_end(const ProcessEnd& end, int pid, std::size_t lost) noexcept {
  try {
    warn("worker ended", fmt::format("{}, with {} requests in hand", end.to_string(), lost), pid);
  } catch (const std::bad_alloc&) {
    warn("worker ended", {}, pid);
  }
}

/// Ends workers that have been replaced, once they have answered what they have.
void WorkerPool::State::retire(Clock::time_point now) {
  for (const WorkerPtr& worker : retiring_) {
    watch(*worker, now);
    const bool is_done = [&] {
      const std::lock_guard lock(mutex_);
      return worker->in_hand.empty() && worker->lost.empty();
    }();
    if (is_done && !worker->closed) {
      worker->closed = true;
      worker->since = now;
      worker->connection->end();
    }
    if (worker->closed && now - worker->since > kEndTime) worker->process.kill();
  }
  std::erase_if(retiring_,
                [this](const WorkerPtr& worker) { return has_ended(*worker, worker->closed); });
}

void WorkerPool::State::end_all() noexcept {
  if (!has_begun_) begun_.set_value(fail(StatusCode::kCancelled, "the pool ends"));
  for (Seat& seat : seats_) {
    if (seat.current != nullptr) retiring_.push_back(std::move(seat.current));
    seat.coming.reset();
  }
  Jobs left;
  {
    const std::lock_guard lock(mutex_);
    serving_.clear();
    isolated_.reset();
    queue_.take_all(left);
    left.splice(left.end(), suspects_);
  }
  for (const WorkerPtr& worker : retiring_) worker->connection->end();
  const auto until = Clock::now() + kEndTime;
  for (const WorkerPtr& worker : retiring_) {
    worker->receiver.join();
    {
      const std::lock_guard lock(mutex_);
      worker->over = true;
      left.splice(left.end(), worker->lost);
    }
    pollfd file{worker->process.pidfd(), POLLIN, 0};
    const auto wait = std::chrono::ceil<Milliseconds>(until - Clock::now());
    (void)::poll(&file, 1, static_cast<int>(std::max<std::int64_t>(wait.count(), 0)));
  }
  retiring_.clear();  // which kills who has not ended
  deliver_all(left, StatusCode::kBusy, "the service ends");
}

}  // namespace framewire::service::workers
