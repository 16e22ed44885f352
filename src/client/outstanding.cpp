#include <algorithm>
#include <client/outstanding.hpp>

namespace framewire::client {

Outstanding::Ticket Outstanding::begin_request() {
  const std::lock_guard lock(mutex_);
  ++all_;
  ++requests_.back();
  return {this, first_epoch_ + requests_.size() - 1};
}

Outstanding::Ticket Outstanding::begin_call() {
  const std::lock_guard lock(mutex_);
  ++all_;
  return {this, kNoEpoch};
}

/// Notifies with the lock: who waits for all may take this down.
void Outstanding::end(std::span<Ticket> tickets) noexcept {
  const auto held = std::ranges::find_if(tickets, [](const Ticket& t) { return t.of_ != nullptr; });
  if (held == tickets.end()) return;
  Outstanding& of = *held->of_;
  const std::lock_guard lock(of.mutex_);
  for (Ticket& ticket : tickets) {
    if (std::exchange(ticket.of_, nullptr) == nullptr) continue;
    --of.all_;
    if (ticket.epoch_ != kNoEpoch) --of.requests_[ticket.epoch_ - of.first_epoch_];
  }
  const std::uint64_t first = of.first_epoch_;
  for (auto& requests = of.requests_; requests.size() > 1 && requests.front() == 0;) {
    requests.pop_front();
    ++of.first_epoch_;
  }
  if (of.all_ == 0 || of.first_epoch_ != first) of.ended_.notify_all();
}

void Outstanding::wait_for_earlier() {
  std::unique_lock lock(mutex_);
  if (requests_.back() != 0) requests_.push_back(0);
  const std::uint64_t current = first_epoch_ + requests_.size() - 1;
  ended_.wait(lock, [&] { return first_epoch_ >= current; });
}

void Outstanding::wait_for_all() noexcept {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return all_ == 0; });
}

}  // namespace framewire::client
