// Requests of several clients, each client's one behind the other.
#pragma once

#include <array>
#include <base/client_times.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <engine/work_list.hpp>
#include <utility>

namespace framewire::engine {

/// Hands out in the order of base::ClientTimes; of accounts with equal times, what came first.
/// Never allocates. Not thread-safe.
class FairList {
 public:
  using TimePoint = base::ClientTimes::TimePoint;
  /// What is next.
  struct Next {
    std::size_t account = 0;
    std::int64_t time_ns = 0;  ///< of that account
    TimePoint arrived;
    [[nodiscard]] bool before(const Next& other) const noexcept {
      return time_ns != other.time_ns ? time_ns < other.time_ns : arrived <= other.arrived;
    }
  };

  /// @param times  told of what is queued; others may share it; outlives this
  explicit FairList(base::ClientTimes& times) noexcept : times_(times) {}

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void push_back(std::uint64_t client, TimePoint now, WorkPtr work) noexcept;
  /// Puts back what was taken last.
  void push_front(std::uint64_t client, TimePoint now, WorkPtr work) noexcept;
  /// Not of an empty list.
  [[nodiscard]] Next next(TimePoint now) const noexcept;
  [[nodiscard]] const Work& front(const Next& next) const noexcept {
    return lists_[next.account].front();
  }
  [[nodiscard]] WorkPtr pop(const Next& next) noexcept;
  /// Takes it out of its place, to put_down() it there again before anything else is put in. Its
  /// client is one that waits all the while.
  [[nodiscard]] WorkPtr lift(const Next& next) noexcept;
  /// In the order opposite to that of lift().
  void put_down(WorkPtr work) noexcept;

  /// Calls `take` for each request, and takes it out where that returns true.
  template <typename Take>
  void remove_if(Take take, WorkList& out) noexcept;

 private:
  static constexpr std::size_t kBits = 64;
  template <typename Call>
  void for_each_account(Call call) const noexcept;
  [[nodiscard]] WorkList& enter(std::uint64_t client, TimePoint now, Work& work) noexcept;
  [[nodiscard]] WorkList& list_of(std::size_t account) noexcept;
  void leave(std::size_t account) noexcept;

  base::ClientTimes& times_;
  std::size_t size_ = 0;
  std::array<std::uint64_t, base::ClientTimes::kAccounts / kBits> filled_{};  ///< a bit an account
  std::array<WorkList, base::ClientTimes::kAccounts> lists_;
};

template <typename Call>
void FairList::for_each_account(Call call) const noexcept {
  for (std::size_t word = 0; word < filled_.size(); ++word) {
    for (std::uint64_t bits = filled_[word]; bits != 0; bits &= bits - 1) {
      call(word * kBits + static_cast<std::size_t>(std::countr_zero(bits)));
    }
  }
}

template <typename Take>
void FairList::remove_if(Take take, WorkList& out) noexcept {
  for_each_account([&](std::size_t account) {
    WorkList kept;
    while (!lists_[account].empty()) {
      WorkPtr work = lists_[account].pop_front();
      const bool taken = take(*work);
      (taken ? out : kept).push_back(std::move(work));
      if (taken) leave(account);
    }
    lists_[account] = std::move(kept);
    if (lists_[account].empty()) filled_[account / kBits] &= ~(std::uint64_t{1} << account % kBits);
  });
}

}  // namespace framewire::engine
