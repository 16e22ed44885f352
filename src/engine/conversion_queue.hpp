// Requests that wait until their profile's conversion is prepared.
#pragma once

#include <color/profile_conversion.hpp>
#include <condition_variable>
#include <engine/queue_watch.hpp>
#include <engine/work_list.hpp>
#include <mutex>
#include <vector>

namespace framewire::engine {

/// Each conversion is prepared by one thread, for all requests that wait for it; lanes and host
/// threads go on with others meanwhile. A few threads of the engine do nothing else, so that
/// profiles, however many and costly, take a bounded share of the host. First in, first out.
/// Thread-safe.
class ConversionQueue {
 public:
  /// @param watch  told of what is queued
  explicit ConversionQueue(QueueWatch& watch) : watch_(watch) {}

  /// For that many callers of take(); before the first of them. Throws std::bad_alloc
  void expect_threads(std::size_t count) { under_way_.reserve(count); }

  /// @param work  has a conversion, and the side of which it is to be ready
  void push(WorkPtr work) noexcept;
  /// Waits for the oldest request whose conversion nobody is preparing.
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

  QueueWatch& watch_;
  std::mutex mutex_;
  std::condition_variable changed_;
  WorkList items_;
  std::vector<const color::ProfileConversion*> under_way_;
  bool closed_ = false;
};

}  // namespace framewire::engine
