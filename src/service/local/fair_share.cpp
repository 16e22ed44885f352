#include <algorithm>
#include <cstdint>
#include <service/local/fair_share.hpp>

namespace framewire::service::local {
namespace {

/// What is left of an equal share for one and so many others.
std::size_t left_of_share(std::size_t all, std::size_t others, std::size_t taken) noexcept {
  const std::size_t share = std::max<std::size_t>(1, all / (others + 1));
  return share > taken ? share - taken : 0;
}

}  // namespace

FairShare::Account& FairShare::enter(User user) {
  const std::lock_guard lock(mutex_);
  Account& account = accounts_[user];
  ++account.members;
  return account;
}

void FairShare::leave(User user) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = accounts_.find(user);
  if (--found->second.members == 0) accounts_.erase(found);
}

FairShare::Member::Member(FairShare& all, User user, base::WakeEvent& event)
    : all_(all), user_(user), account_(all.enter(user)), event_(event) {}

FairShare::Member::~Member() {
  set_waiting(false);
  all_.leave(user_);
}

std::size_t FairShare::Member::allowance() const noexcept {
  std::size_t room = SIZE_MAX;
  if (all_.limit_ != 0) {
    const std::size_t taken = all_.under_way_;
    room = all_.limit_ > taken ? all_.limit_ - taken : 0;
  }
  const std::size_t waiting = account_.waiting;
  const std::size_t waiting_users = all_.waiting_users_;
  // Neither this connection nor its user are among the others.
  const std::size_t others = waiting_ && waiting > 0 ? waiting - 1 : waiting;
  const std::size_t other_users =
      waiting > 0 && waiting_users > 0 ? waiting_users - 1 : waiting_users;
  std::size_t of_user = all_.capacity_;
  if (other_users != 0) {
    room = std::min(room, left_of_share(all_.capacity_, other_users, account_.under_way));
    of_user = std::max<std::size_t>(1, of_user / (other_users + 1));
  }
  if (others != 0) room = std::min(room, left_of_share(of_user, others, under_way_));
  return room;
}

void FairShare::Member::entered(std::size_t count) noexcept {
  under_way_ += count;
  account_.under_way += count;
  all_.under_way_ += count;
}

void FairShare::Member::refused(std::size_t count) noexcept {
  if (count == 0) return;
  under_way_ -= count;
  account_.under_way -= count;
  const std::size_t left = all_.under_way_ -= count;
  if (all_.limit_ == 0) all_.capacity_ = left;
  set_waiting(true);
}

void FairShare::Member::set_waiting(bool waiting) noexcept {
  if (waiting_ == waiting) return;
  waiting_ = waiting;
  const std::lock_guard lock(all_.mutex_);
  if (waiting) {
    next_ = all_.first_;
    all_.first_ = this;
    ++all_.waiting_;
    if (++account_.waiting == 1) ++all_.waiting_users_;
    return;
  }
  Member** link = &all_.first_;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
  --all_.waiting_;
  if (--account_.waiting == 0) --all_.waiting_users_;
}

void FairShare::Member::left(std::size_t count) noexcept {
  under_way_ -= count;
  account_.under_way -= count;
  const std::size_t left = all_.under_way_ -= count;
  // Half a limit at a time: waking a thread costs as much as a tenth of a small picture.
  if (all_.limit_ == 0 || left > all_.limit_ / 2 || all_.waiting_ == 0) return;
  const std::lock_guard lock(all_.mutex_);
  for (Member* member = all_.first_; member != nullptr; member = member->next_) {
    member->event_.notify();
  }
}

}  // namespace framewire::service::local
