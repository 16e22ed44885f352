#include <bit>
#include <engine/fair_list.hpp>
#include <optional>
#include <utility>

namespace framewire::engine {

WorkList& FairList::enter(std::uint64_t client) noexcept {
  const std::size_t account = times_.enter(client);
  filled_[account / kBits] |= std::uint64_t{1} << account % kBits;
  ++size_;
  return lists_[account];
}

void FairList::leave(std::size_t account) noexcept {
  times_.leave(account);
  --size_;
}

void FairList::push_back(std::uint64_t client, WorkPtr work) noexcept {
  enter(client).push_back(std::move(work));
}

void FairList::push_front(std::uint64_t client, WorkPtr work) noexcept {
  WorkList front;
  front.push_back(std::move(work));
  enter(client).prepend(std::move(front));
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
  WorkList& list = lists_[next.account];
  WorkPtr work = list.pop_front();
  if (list.empty()) filled_[next.account / kBits] &= ~(std::uint64_t{1} << next.account % kBits);
  leave(next.account);
  return work;
}

}  // namespace framewire::engine
