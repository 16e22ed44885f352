// What a client has under way: for those who wait until it has ended.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <utility>

namespace framewire::client {

/// Counts requests without an answer, by when they began, and calls of `on_room` that are to come.
/// Thread-safe. Outlives its tickets.
class Outstanding {
 public:
  /// One request, or one call, until this is destroyed. May be empty.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), epoch_(other.epoch_) {}
    Ticket& operator=(Ticket&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(epoch_, other.epoch_);
      Outstanding::end({&other, 1});
      return *this;
    }
    ~Ticket() { Outstanding::end({this, 1}); }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

   private:
    friend class Outstanding;
    Ticket(Outstanding* of, std::uint64_t epoch) noexcept : of_(of), epoch_(epoch) {}
    Outstanding* of_ = nullptr;
    std::uint64_t epoch_ = 0;
  };

  [[nodiscard]] Ticket begin_request();
  [[nodiscard]] Ticket begin_call();
  /// Ends what tickets of one object stand for, which are empty then, with one lock.
  static void end(std::span<Ticket> tickets) noexcept;
  /// Waits until all requests that began before this call have ended.
  void wait_for_earlier();
  /// Waits until there is neither a request nor a call.
  void wait_for_all() noexcept;

 private:
  /// Of calls, for which wait_for_earlier() does not wait.
  static constexpr std::uint64_t kNoEpoch = ~std::uint64_t{0};

  std::mutex mutex_;
  std::condition_variable ended_;
  /// Requests of each epoch, from first_epoch_ on. The last epoch is the current one; a wait for
  /// earlier requests begins another.
  std::deque<std::size_t> requests_ = std::deque<std::size_t>(1);
  std::uint64_t first_epoch_ = 0;
  std::size_t all_ = 0;  ///< requests and calls
};

}  // namespace framewire::client
