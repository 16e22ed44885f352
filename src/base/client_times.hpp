// How much of the time of threads that work for several clients each of them has had.
#pragma once

#include <array>
#include <base/clock.hpp>
#include <cstddef>
#include <cstdint>

namespace framewire::base {

/// An account's time is what its requests have taken, those under way included; whoever has had
/// least is next. So several clients get equal time while all want some, whatever their requests
/// cost and however many they hand in, and the time that nobody else wants is anybody's. Who begins
/// to wait, anew or after a pause, begins with the time of whoever was served last, not with what
/// they have saved up; and where nobody had to wait until then, nobody owes anything. (This is
/// start-time fair queueing with times that are measured, not foretold.)
///
/// Of kAccounts accounts a client has one as long as it wants something, and maybe longer. Where
/// hundreds want something at once, some share one; a salt, different in each process, keeps others
/// from choosing with whom. Never allocates. Not thread-safe.
class ClientTimes {
 public:
  using TimePoint = base::Clock::time_point;
  static constexpr std::size_t kAccounts = 512;

  /// @param salt  nobody else knows it
  explicit ClientTimes(std::uint64_t salt) noexcept : salt_(salt) {}

  /// So far, in nanoseconds from a common beginning.
  [[nodiscard]] std::int64_t time_ns(std::size_t account, TimePoint now) const noexcept;

  /// A request waits, or no longer. @return the client's account
  std::size_t enter(std::uint64_t client, TimePoint now) noexcept;
  void leave(std::size_t account) noexcept;
  /// Whose request is taken out to be worked on.
  void serve(std::size_t account, TimePoint now) noexcept;
  /// Of a thread that works on a request. @return the client's account
  std::size_t begin(std::uint64_t client, TimePoint now) noexcept;
  /// @param begun  the `now` of begin()
  void end(std::size_t account, TimePoint begun, TimePoint now) noexcept;
  /// Adds time that nobody has measured by begin() and end().
  void charge(std::size_t account, std::int64_t time_ns) noexcept;

 private:
  struct Account {
    std::uint64_t client = 0;
    std::int64_t used_ns = 0;
    std::uint64_t begun_ns = 0;  ///< the sum of when those under way were begun
    std::uint32_t running = 0;
    std::uint32_t waiting = 0;
    [[nodiscard]] bool in_use() const noexcept { return waiting != 0 || running != 0; }
  };
  [[nodiscard]] std::size_t account_of(std::uint64_t client) noexcept;
  void forgive(TimePoint now) noexcept;

  std::uint64_t salt_;
  std::int64_t served_ns_ = 0;  ///< the most that somebody had had who was served
  std::int64_t most_used_ns_ = 0;
  std::size_t waiting_accounts_ = 0;
  std::size_t running_ = 0;  ///< of all accounts
  std::array<Account, kAccounts> accounts_{};
};

}  // namespace framewire::base
