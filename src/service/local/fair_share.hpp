// Who may hand in how many requests while several clients want more than the engine takes.
#pragma once

#include <atomic>
#include <base/wake_event.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace framewire::service::local {

/// Shared by all connections of a server. While somebody waits for room in the engine, the others
/// hold no more than equal shares of what the engine took when it last refused, or of a limit:
/// users first, and the connections of one user among themselves. Thread-safe.
class FairShare {
 public:
  /// Who has a connection: a user's number, or whatever else tells users apart.
  using User = std::uint64_t;

  /// @param limit  of requests that the engine has of all clients at a time; 0: the engine's own
  explicit FairShare(std::size_t limit = 0) : limit_(limit), capacity_(limit) {}

 private:
  /// What all connections of one user have.
  struct Account {
    std::atomic<std::size_t> under_way{0};
    std::atomic<std::size_t> waiting{0};  ///< members
    std::size_t members = 0;              ///< guarded by mutex_
  };

 public:
  /// One connection's part. Its functions are for the connection's thread, save left().
  class Member {
   public:
    /// @param event  tells the connection's thread, while it waits, of room under the limit
    /// Throws std::bad_alloc.
    Member(FairShare& all, User user, base::WakeEvent& event);
    ~Member();
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
    /// After answers. From any thread.
    void left(std::size_t count = 1) noexcept;

   private:
    friend class FairShare;
    FairShare& all_;
    const User user_;
    Account& account_;
    base::WakeEvent& event_;
    std::atomic<std::size_t> under_way_{0};
    bool waiting_ = false;
    Member* next_ = nullptr;  ///< of those that wait
  };

 private:
  [[nodiscard]] Account& enter(User user);
  void leave(User user) noexcept;

  const std::size_t limit_;
  std::atomic<std::size_t> under_way_{0};
  std::atomic<std::size_t> capacity_;          ///< what was under way when the engine last refused
  std::atomic<std::size_t> waiting_{0};        ///< members
  std::atomic<std::size_t> waiting_users_{0};  ///< that have such
  std::mutex mutex_;
  Member* first_ = nullptr;           ///< of those that wait
  std::map<User, Account> accounts_;  ///< of users that have members
};

}  // namespace framewire::service::local
