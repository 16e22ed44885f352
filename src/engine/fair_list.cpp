#include <bit>
#include <engine/fair_list.hpp>
#include <optional>
#include <utility>

namespace framewire::engine {

/// Into which something will be put.
WorkList& FairList::list_of(std::size_t account) noexcept {
  filled_[account / kBits] |= std::uint64_t{1} << account % kBits;
  ++size_;
  return lists_[account];
}

WorkList& FairList::enter(std::uint64_t client, TimePoint now, Work& work) noexcept {
  work.account = times_.enter(client, now);
  return list_of(work.account);
}

void FairList::leave(std::size_t account) noexcept {
  times_.leave(account);
  --size_;
}

void FairList::push_back(std::uint64_t client, TimePoint now, WorkPtr work) noexcept {
  WorkList& list = enter(client, now, *work);
  list.push_back(std::move(work));
}

void FairList::push_front(std::uint64_t client, TimePoint now, WorkPtr work) noexcept {
  WorkList& list = enter(client, now, *work);
  list.push_front(std::move(work));
}

FairList::Next FairList::next(TimePoint now) const noexcept {
  std::optional<Next> first;
  for_each_account([&](std::size_t account) {
    const Next one{account, times_.time_ns(account, now), lists_[account].front().arrived};
    if (!first || !first->before(one)) first = one;
  });
  return *first;
}

WorkPtr FairList::pop(const Next& next) noexcept {
  WorkPtr work = lift(next);
  times_.leave(next.account);
  return work;
}

WorkPtr FairList::lift(const Next& next) noexcept {
  WorkList& list = lists_[next.account];
  WorkPtr work = list.pop_front();
  if (list.empty()) filled_[next.account / kBits] &= ~(std::uint64_t{1} << next.account % kBits);
  --size_;
  return work;
}

void FairList::put_down(WorkPtr work) noexcept {
  WorkList& list = list_of(work->account);
  list.push_front(std::move(work));
}

}  // namespace framewire::engine
