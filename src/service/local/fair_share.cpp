#include <algorithm>
#include <cstdint>
#include <service/local/fair_share.hpp>

namespace framewire::service::local {

std::size_t FairShare::Member::allowance() const noexcept {
  const std::size_t waiting = all_.waiting_;
  const std::size_t others = waiting_ && waiting > 0 ? waiting - 1 : waiting;
  std::size_t room = SIZE_MAX;
  if (all_.limit_ != 0) {
    const std::size_t taken = all_.under_way_;
    room = all_.limit_ > taken ? all_.limit_ - taken : 0;
  }
  if (others == 0) return room;
  const std::size_t share = std::max<std::size_t>(1, all_.capacity_ / (others + 1));
  const std::size_t under_way = under_way_;
  return std::min(room, share > under_way ? share - under_way : 0);
}

void FairShare::Member::entered(std::size_t count) noexcept {
  under_way_ += count;
  all_.under_way_ += count;
}

void FairShare::Member::refused(std::size_t count) noexcept {
  if (count == 0) return;
  under_way_ -= count;
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
    return;
  }
  Member** link = &all_.first_;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
  --all_.waiting_;
}

void FairShare::Member::left() noexcept {
  --under_way_;
  const std::size_t left = --all_.under_way_;
  // Half a limit at a time: waking a thread costs as much as a tenth of a small picture.
  if (all_.limit_ == 0 || left > all_.limit_ / 2 || all_.waiting_ == 0) return;
  const std::lock_guard lock(all_.mutex_);
  for (Member* member = all_.first_; member != nullptr; member = member->next_) {
    member->event_.notify();
  }
}

}  // namespace framewire::service::local
