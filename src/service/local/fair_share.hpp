// Who may hand in how many requests while several clients want more than the engine takes.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <service/local/event.hpp>

namespace framewire::service::local {

/// Shared by all connections of a server. While one client waits for room in the engine, the others
/// hold no more than equal shares of what the engine took when it last refused, or of a limit.
/// Thread-safe.
class FairShare {
 public:
  /// @param limit  of requests that the engine has of all clients at a time; 0: the engine's own
  explicit FairShare(std::size_t limit = 0) : limit_(limit), capacity_(limit) {}

  /// One client's part. Its functions are for the client's thread, save left().
  class Member {
   public:
    /// @param event  tells the client's thread, while it waits, of room under the limit
    Member(FairShare& all, Event& event) noexcept : all_(all), event_(event) {}
    ~Member() { set_waiting(false); }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    /// How many more requests may be handed in now.
    [[nodiscard]] std::size_t allowance() const noexcept;
    /// Before requests are handed in, since they may be answered before that call returns.
    void entered(std::size_t count) noexcept;
    /// How many of those the engine refused.
    void refused(std::size_t count) noexcept;
    /// Whether requests wait for room in the engine. Look at allowance() again behind it.
    void set_waiting(bool waiting) noexcept;
    /// After an answer. From any thread.
    void left() noexcept;

   private:
    friend class FairShare;
    FairShare& all_;
    Event& event_;
    std::atomic<std::size_t> under_way_{0};
    bool waiting_ = false;
    Member* next_ = nullptr;  ///< of those that wait
  };

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> under_way_{0};
  std::atomic<std::size_t> capacity_;    ///< what was under way when the engine last refused
  std::atomic<std::size_t> waiting_{0};  ///< members
  std::mutex mutex_;
  Member* first_ = nullptr;  ///< of those that wait
};

}  // namespace framewire::service::local
