// What a client has under way: for those who wait until it has ended.
#pragma once

#include <base/epochs.hpp>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
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
    Ticket(Outstanding* of, std::optional<base::Epochs::Epoch> epoch) noexcept
        : of_(of), epoch_(epoch) {}
    Outstanding* of_ = nullptr;
    std::optional<base::Epochs::Epoch> epoch_;  ///< none: a call, for which drain() does not wait
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
  std::mutex mutex_;
  std::condition_variable ended_;
  base::Epochs requests_;
  std::size_t all_ = 0;  ///< requests and calls
};

}  // namespace framewire::client
