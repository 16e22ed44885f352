// Requests that wait for a lane or a host thread.
#pragma once

#include <array>
#include <atomic>
#include <base/client_times.hpp>
#include <base/random.hpp>
#include <codec/helpers.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <engine/fair_list.hpp>
#include <engine/queue_watch.hpp>
#include <engine/work_list.hpp>
#include <mutex>

namespace framewire::engine {

/// Who is next.
enum class QueueOrder : std::uint8_t {
  kArrival,     ///< who came first
  kClientTime,  ///< of the client that has had least of the callers' time: see base::ClientTimes
};

/// What a device could decode has an order of its own where much of that waits; what bounds the
/// queue is the engine's count of unanswered requests. Never allocates. Thread-safe.
class WorkQueue {
 public:
  /// @param watch  told of what is queued
  explicit WorkQueue(QueueWatch& watch, QueueOrder order = QueueOrder::kArrival)
      : watch_(watch), order_(order) {}

  void push(WorkPtr work) noexcept;
  void push(WorkList works) noexcept;
  /// Hands back what did not fit into a batch, to be taken next, in its order.
  void put_back(WorkList works) noexcept;

  struct Bounds {
    std::size_t max_requests = 1;
    std::size_t min_share = 1;             ///< leave nothing to others that wait below this
    std::uint64_t max_bytes = UINT64_MAX;  ///< of compressed input; one request may exceed it
    std::uint32_t wait_us = 0;             ///< how long the oldest may wait for more to come
    std::size_t callers = 1;               ///< that call take()
  };
  /// Waits for requests and takes the oldest ones into `out`. While other callers are at work, it
  /// waits, no longer than bounds.wait_us, until the queue holds this caller's share of all
  /// requests that are queued or at work: who keeps a number of requests under way hands in the
  /// next ones as answers come, so that the work of n callers comes in n parts. Waiting for more
  /// would leave the device idle, waiting for less would give it more, smaller batches.
  /// @param done  how many requests this caller took last, and has finished; 0 for its first call
  /// @return false once closed and empty
  bool take(const Bounds& bounds, std::size_t done, WorkList& out);

  /// While it lives its thread works on one request, and the client's time goes by. For callers of
  /// take() in the order kClientTime.
  class Turn {
   public:
    Turn(WorkQueue& queue, const Work& work) noexcept;
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    WorkQueue& queue_;
    const base::ClientTimes::TimePoint begun_;
    std::size_t account_ = 0;
  };

  /// What a device could decode is left to callers of take_for_device() while so many wait.
  struct DeviceBounds {
    std::size_t min_requests = 1;   ///< fewer that wait are left to others; at least 1
    std::size_t good_requests = 1;  ///< until there are so many, sizes may differ
    std::size_t max_requests = 1;
    std::uint64_t max_bytes = UINT64_MAX;  ///< of compressed input; one request may exceed it
  };
  /// Waits until enough requests wait that a device could decode (Work::device_could_decode), and
  /// takes the oldest one with others of like size: a batch takes as long as its largest. Where
  /// those are few it takes smaller ones too, and then larger ones. Between join_device_takers()
  /// and leave_device_takers().
  /// @return false once closed
  bool take_for_device(const DeviceBounds& bounds, WorkList& out);
  void join_device_takers() noexcept;
  void leave_device_takers() noexcept;
  /// Whether take() has nothing to hand out now.
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  /// Callers of take() that have no request now.
  [[nodiscard]] std::size_t idle() noexcept;
  /// Lets up to `most` of them help with `work` while nothing is queued. Nobody is invited where
  /// as many invitations are open as there may be.
  void invite(codec::SharedWork& work, std::size_t most) noexcept;
  /// Waits until none of them helps with `work`, and none will. Does nothing without an invitation.
  void dismiss(codec::SharedWork& work) noexcept;

  /// Moves requests that are over (is_over()) into `over`.
  /// @return the earliest deadline of those that stay; TimePoint::max() for none
  [[nodiscard]] QueueWatch::TimePoint remove_over(WorkList& over) noexcept;

  /// For a caller of take() that will not call again. @param done  as of take(); not 0
  void leave(std::size_t done);
  /// Wakes all; what is queued is still handed out.
  void close();

 private:
  void append(WorkPtr work) noexcept;
  /// The next request of one of the lists.
  struct Next {
    FairList* list = nullptr;
    FairList::Next place;
    [[nodiscard]] const Work& work() const noexcept { return list->front(place); }
  };
  [[nodiscard]] std::uint64_t client_of(const Work& work) const noexcept;
  [[nodiscard]] FairList& list_of(const Work& work) noexcept;
  [[nodiscard]] bool devices_take() const noexcept;
  void recount() noexcept;
  void recount_and_wake() noexcept;
  [[nodiscard]] Next next(base::ClientTimes::TimePoint now) noexcept;
  [[nodiscard]] base::ClientTimes::TimePoint now() const noexcept;
  void count_in(const Work& work) noexcept;
  void count_out(const Work& work) noexcept;
  void wake_for_device() noexcept;
  [[nodiscard]] std::uint64_t sizes_for(const Work& oldest, std::size_t good_requests) const;
  void take_sizes(std::uint64_t sizes, const DeviceBounds& bounds, WorkList& out) noexcept;
  void tell_watch(const Work& work) noexcept;
  [[nodiscard]] std::size_t share() const;
  void wake_all();
  void look(std::unique_lock<std::mutex>& lock);
  struct Invitation {
    codec::SharedWork* work = nullptr;  ///< null: free
    std::size_t places = 0;             ///< for helpers still to come
    std::size_t inside = 0;             ///< helpers
  };
  [[nodiscard]] Invitation* find_invitation() noexcept;
  void help(std::unique_lock<std::mutex>& lock, Invitation& invitation) noexcept;
  void wait_for_more(std::unique_lock<std::mutex>& lock, const Bounds& bounds);

  std::mutex mutex_;
  QueueWatch& watch_;
  const QueueOrder order_;
  base::ClientTimes times_{base::random_seed()};
  std::condition_variable filled_;  ///< for callers without a request
  std::condition_variable enough_;  ///< for those who wait for more to come
  FairList items_{times_};
  std::atomic<std::size_t> count_{0};  ///< that take() may hand out, for a look without the lock
  std::uint64_t bytes_ = 0;            ///< of all that is queued
  FairList for_device_{times_};        ///< what a device could decode
  std::array<std::size_t, 64> for_device_sizes_{};  ///< its requests by size_class()
  std::size_t soon_for_device_ = 0;  ///< items that a device could decode once their gain maps are
                                     ///< done
  std::condition_variable many_for_device_;
  std::size_t device_takers_ = 0;
  std::size_t waiting_takers_ = 0;
  std::size_t min_for_device_ = 1;  ///< as callers of take_for_device() said last
  std::size_t busy_ = 0;            ///< callers of take() that are at work
  std::size_t waiting_ = 0;
  std::size_t gathering_ = 0;  ///< of those, who have a request and wait for more
  std::size_t at_work_ = 0;    ///< requests that callers have taken and not finished
  Bounds bounds_;              ///< as callers of take() said last; all say the same
  std::size_t looking_ = 0;    ///< callers of take() that will see what comes without being woken
  std::array<Invitation, 8> invitations_;
  std::atomic<std::size_t> places_{0};  ///< of all invitations, for a look without the lock
  std::condition_variable helped_;      ///< for dismiss()
  bool closed_ = false;
};

}  // namespace framewire::engine
