#include <algorithm>
#include <base/client_times.hpp>
#include <bit>

namespace framewire::base {
namespace {

/// Accounts that a client may have.
constexpr std::size_t kNeighbours = 8;

/// Sums of these wrap; their differences do not.
std::uint64_t ns_of(ClientTimes::TimePoint time) noexcept {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
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
  return of.used_ns + static_cast<std::int64_t>(of.running * ns_of(now) - of.begun_ns);
}

std::size_t ClientTimes::enter(std::uint64_t client, TimePoint now) noexcept {
  if (waiting_accounts_ == 0) forgive(now);
  const std::size_t account = account_of(client);
  Account& of = accounts_[account];
  if (of.waiting++ == 0) {
    of.used_ns += std::max<std::int64_t>(served_ns_ - time_ns(account, now), 0);
    ++waiting_accounts_;
  }
  return account;
}

/// Nobody has waited until now: what was taken was what nobody else wanted.
void ClientTimes::forgive(TimePoint now) noexcept {
  served_ns_ = std::max(served_ns_, most_used_ns_);
  if (running_ == 0) return;
  for (std::size_t account = 0; account < kAccounts; ++account) {
    if (accounts_[account].running != 0) served_ns_ = std::max(served_ns_, time_ns(account, now));
  }
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
  ++running_;
  accounts_[account].begun_ns += ns_of(now);
  return account;
}

void ClientTimes::end(std::size_t account, TimePoint begun, TimePoint now) noexcept {
  Account& of = accounts_[account];
  --of.running;
  --running_;
  of.begun_ns -= ns_of(begun);
  of.used_ns += static_cast<std::int64_t>(ns_of(now) - ns_of(begun));
  most_used_ns_ = std::max(most_used_ns_, of.used_ns);
}

void ClientTimes::charge(std::size_t account, std::int64_t time_ns) noexcept {
  accounts_[account].used_ns += time_ns;
  most_used_ns_ = std::max(most_used_ns_, accounts_[account].used_ns);
}

}  // namespace framewire::base
