// Requests that wait until their profile's conversion is prepared.
#pragma once

#include <base/client_times.hpp>
#include <base/random.hpp>
#include <color/profile_conversion.hpp>
#include <condition_variable>
#include <engine/fair_list.hpp>
#include <engine/queue_watch.hpp>
#include <engine/work_list.hpp>
#include <mutex>
#include <vector>

namespace framewire::engine {

/// Each conversion is prepared by one thread, for all requests that wait for it; lanes and host
/// threads go on with others meanwhile. A few threads of the engine do nothing else, so that
/// profiles, however many and costly, take a bounded share of the host. Their time is shared among
/// clients as that of host threads is. Thread-safe.
class ConversionQueue {
 public:
  /// @param watch  told of what is queued
  explicit ConversionQueue(QueueWatch& watch) : watch_(watch) {}

  /// For that many callers of take(); before the first of them. Throws std::bad_alloc
  void expect_threads(std::size_t count) { under_way_.reserve(count); }

  /// @param work  has a conversion, and the side of which it is to be ready
  void push(WorkPtr work) noexcept;
  /// Waits for a request whose conversion nobody is preparing, and takes the next one in turn.
  /// @return null once closed and empty
  [[nodiscard]] WorkPtr take();
  /// Ends what take() began. @param done  what take() returned, as it was then
  /// @return the requests that wait for the same conversion, and for which it is ready now
  [[nodiscard]] WorkList complete(const color::ProfileConversion* done) noexcept;

  /// As WorkQueue::remove_over().
  [[nodiscard]] QueueWatch::TimePoint remove_over(WorkList& over) noexcept;
  void close();

 private:
  [[nodiscard]] bool is_under_way(const Work& work) const noexcept;
  [[nodiscard]] WorkPtr take_first_idle() noexcept;
  struct UnderWay {
    const color::ProfileConversion* conversion = nullptr;
    std::size_t account = 0;  ///< of the client whose request it was taken for
    base::ClientTimes::TimePoint begun;
  };

  QueueWatch& watch_;
  std::mutex mutex_;
  std::condition_variable changed_;
  base::ClientTimes times_{base::random_seed()};
  FairList items_{times_};
  std::vector<UnderWay> under_way_;
  bool closed_ = false;
};

}  // namespace framewire::engine
