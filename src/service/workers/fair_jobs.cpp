#include <base/clock.hpp>
#include <limits>
#include <service/workers/fair_jobs.hpp>
#include <service/workers/pool_state.hpp>

namespace framewire::service::workers {

Jobs& FairJobs::enter(PoolJob& job) noexcept {
  ++size_;
  job.queued = Clock::now();
  job.account = times_.enter(job.client, {});
  return jobs_[job.account];
}

void FairJobs::push_back(Jobs& from, Jobs::iterator job) noexcept {
  Jobs& jobs = enter(**job);
  jobs.splice(jobs.end(), from, job);
}

void FairJobs::push_front(Jobs& from, Jobs::iterator job) noexcept {
  Jobs& jobs = enter(**job);
  jobs.splice(jobs.begin(), from, job);
}

void FairJobs::push_back_all(Jobs& from) noexcept {
  while (!from.empty()) push_back(from, from.begin());
}

void FairJobs::push_front_all(Jobs& from) noexcept {
  while (!from.empty()) push_front(from, std::prev(from.end()));
}

Jobs::iterator FairJobs::next() const noexcept {
  const JobPtr* first = nullptr;
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
  for (std::size_t account = 0; account < jobs_.size(); ++account) {
    if (jobs_[account].empty()) continue;
    const JobPtr& job = jobs_[account].front();
    const std::int64_t time_ns = times_.time_ns(account, {});
    const bool earlier = first == nullptr || time_ns < least_ns ||
                         (time_ns == least_ns && job->queued < (*first)->queued);
    if (!earlier) continue;
    first = &job;
    least_ns = time_ns;
  }
  return (*first)->place;
}

void FairJobs::take(Jobs::iterator job, Jobs& to, bool is_served) noexcept {
  const std::size_t account = (*job)->account;
  if (is_served) times_.serve(account, {});
  times_.leave(account);
  --size_;
  to.splice(to.end(), jobs_[account], job);
}

void FairJobs::charge(std::uint64_t client, std::int64_t time_ns) noexcept {
  const std::size_t account = times_.enter(client, {});
  times_.charge(account, time_ns);
  times_.leave(account);
}

}  // namespace framewire::service::workers
