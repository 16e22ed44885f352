// Requests that wait for a worker, each client's one behind the other.
#pragma once

#include <array>
#include <base/client_times.hpp>
#include <base/random.hpp>
#include <cstddef>
#include <list>
#include <memory>

namespace framewire::service::workers {

struct PoolJob;
using JobPtr = std::shared_ptr<PoolJob>;
using Jobs = std::list<JobPtr>;

/// Hands out what came first of the client that has had least of the workers' time. Requests move
/// between lists, so that nothing here takes memory. Not thread-safe.
class FairJobs {
 public:
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void push_back(Jobs& from, Jobs::iterator job) noexcept;
  /// Before the others of its client.
  void push_front(Jobs& from, Jobs::iterator job) noexcept;
  void push_back_all(Jobs& from) noexcept;
  void push_front_all(Jobs& from) noexcept;

  /// What is next; not where there is nothing.
  [[nodiscard]] Jobs::iterator next() const noexcept;
  /// Moves it to the end of another list. @param is_served  a worker gets it
  void take(Jobs::iterator job, Jobs& to, bool is_served) noexcept;
  /// Calls `wanted` for each, and moves it to the end of the list that it returns, if any.
  template <typename Wanted>
  void take_if(Wanted wanted) noexcept;
  void take_all(Jobs& to) noexcept {
    take_if([&](const PoolJob&) { return &to; });
  }

  /// Adds time that a worker has spent on a request of the client's.
  void charge(std::uint64_t client, std::int64_t time_ns) noexcept;

 private:
  using Times = base::ClientTimes;
  [[nodiscard]] Jobs& enter(PoolJob& job) noexcept;

  Times times_{base::random_seed()};
  std::size_t size_ = 0;
  std::array<Jobs, Times::kAccounts> jobs_;
};

template <typename Wanted>
void FairJobs::take_if(Wanted wanted) noexcept {
  for (Jobs& jobs : jobs_) {
    for (auto job = jobs.begin(); job != jobs.end();) {
      const auto next = std::next(job);
      if (Jobs* const to = wanted(**job)) take(job, *to, false);
      job = next;
    }
  }
}

}  // namespace framewire::service::workers
