#include <algorithm>
#include <base/client_times.hpp>
#include <bit>

namespace framewire::base {
namespace {

/// Accounts that a client may have.
constexpr std::size_t kNeighbours = 8;

std::int64_t ns_of(ClientTimes::TimePoint time) noexcept {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

}  // namespace

std::size_t ClientTimes::account_of(std::uint64_t client) noexcept {
  // Steps of MurmurHash3's finalizer, with the salt between them.
  constexpr std::uint64_t kFirst = 0xFF51AFD7ED558CCD;
  constexpr std::uint64_t kSecond = 0xC4CEB9FE1A85EC53;
  std::uint64_t mixed = (client ^ salt_) * kFirst;
  mixed = (mixed ^ mixed >> 33 ^ std::rotl(salt_, 32)) * kSecond;
  const std::size_t first = (mixed >> 32) % kAccounts;
  // Its own, or else, of those next to it that nobody needs, the one that stands for least time.
  std::size_t free = kAccounts;
  for (std::size_t i = 0; i < kNeighbours; ++i) {
    const std::size_t account = (first + i) % kAccounts;
    const Account& of = accounts_[account];
    if (of.client == client) return account;
    if (of.in_use()) continue;
    if (free == kAccounts || of.used_ns < accounts_[free].used_ns) free = account;
  }
  if (free == kAccounts) return first;
  accounts_[free] = {.client = client, .used_ns = served_ns_};
  return free;
}

std::int64_t ClientTimes::time_ns(std::size_t account, TimePoint now) const noexcept {
  const Account& of = accounts_[account];
  return of.used_ns + of.running * ns_of(now) - of.begun_ns;
}

std::size_t ClientTimes::enter(std::uint64_t client) noexcept {
  const std::size_t account = account_of(client);
  Account& of = accounts_[account];
  if (!of.in_use()) of.used_ns = std::max(of.used_ns, served_ns_);
  if (of.waiting++ == 0) ++waiting_accounts_;
  return account;
}

void ClientTimes::leave(std::size_t account) noexcept {
  if (--accounts_[account].waiting == 0) --waiting_accounts_;
}

void ClientTimes::serve(std::size_t account, TimePoint now) noexcept {
  served_ns_ = std::max(served_ns_, time_ns(account, now));
}

std::size_t ClientTimes::begin(std::uint64_t client, TimePoint now) noexcept {
  const std::size_t account = account_of(client);
  ++accounts_[account].running;
  accounts_[account].begun_ns += ns_of(now);
  return account;
}

void ClientTimes::end(std::size_t account, TimePoint begun, TimePoint now) noexcept {
  Account& of = accounts_[account];
  --of.running;
  of.begun_ns -= ns_of(begun);
  of.used_ns += ns_of(now) - ns_of(begun);
}

}  // namespace framewire::base
