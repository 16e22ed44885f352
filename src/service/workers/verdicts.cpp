// What becomes of the requests that a worker had in hand when it ended.
//
// Which of them ended it nobody knows, unless it was the only one. So after a crash they are tried
// again one at a time, in a worker that has nothing else: an innocent input is answered there, a
// guilty one is found out. SIGKILL from outside accuses nobody the first time, since operators and
// tests kill too; but so does the system where memory has run out, perhaps for one input. A worker
// that is stopped (SIGSTOP, a debugger) and killed since it hangs is like one that was killed.
#include <fmt/format.h>
#include <algorithm>
#include <new>
#include <service/workers/pool_state.hpp>
#include <utility>

namespace framewire::service::workers {
namespace {

constexpr unsigned kGuiltyCrashes = 2;
constexpr unsigned kGuiltyKills = 3;
constexpr unsigned kFreeKills = 1;  ///< after which a request is not isolated

}  // namespace

void WorkerPool::State::judge(Jobs lost, Cause cause) {
  const bool alone = lost.size() == 1;
  Jobs again;
  Jobs alone_again;
  while (!lost.empty()) {
    const auto first = lost.begin();
    PoolJob& job = **first;
    if (is_guilty(job, cause, alone)) {
      convict(lost, first);
      continue;
    }
    ++retries_;
    job.is_suspect = job.crashes != 0 || job.kills > kFreeKills;
    Jobs& to = job.is_suspect ? alone_again : again;
    to.splice(to.end(), lost, first);
  }
  const std::lock_guard lock(mutex_);
  queue_.push_front_all(again);
  suspects_.splice(suspects_.end(), alone_again);
}

bool WorkerPool::State::is_guilty(PoolJob& job, Cause cause, bool alone) {
  if (cause == Cause::kKilled) {
    ++job.kills;
    job.lone_kills += alone ? 1 : 0;
    return job.lone_kills >= kGuiltyKills;
  }
  ++job.crashes;
  if (!alone) return false;
  try {
    // Others may have sent the same before.
    if (quarantine_.accuse(job.jpeg) >= kGuiltyCrashes) return true;
  } catch (const std::bad_alloc&) {
    // What this request alone has done counts.
  }
  return job.crashes >= kGuiltyCrashes;
}

/// Answers it, and all that have sent the same.
void WorkerPool::State::convict(Jobs& lost, Jobs::iterator guilty) {
  const std::span<const std::uint8_t> jpeg = (*guilty)->jpeg;
  quarantine_.add(jpeg);
  Jobs all;
  all.splice(all.end(), lost, guilty);
  {
    const std::lock_guard lock(mutex_);
    const auto is_it = [&](const PoolJob& job) { return std::ranges::equal(job.jpeg, jpeg); };
    queue_.take_if([&](const PoolJob& job) { return is_it(job) ? &all : nullptr; });
    for (auto job = suspects_.begin(); job != suspects_.end();) {
      const auto next = std::next(job);
      if (is_it(**job)) all.splice(all.end(), suspects_, job);
      job = next;
    }
  }
  refused_ += all.size();
  try {
    warn("input quarantined", "two workers ended while decoding " + Quarantine::name_of(jpeg), 0);
  } catch (const std::bad_alloc&) {
    warn("input quarantined", "two workers ended while decoding an input", 0);
  }
  deliver_all(all, StatusCode::kInvalidInput, kQuarantined);
}

void WorkerPool::State::clear_quarantine() {
  const std::size_t count = quarantine_.clear();
  if (count == 0) return;
  tell("quarantine cleared", fmt::format("{} refused inputs are tried again", count), 0);
}

}  // namespace framewire::service::workers
