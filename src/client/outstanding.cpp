#include <algorithm>
#include <client/outstanding.hpp>
#include <new>

namespace framewire::client {

Outstanding::Ticket Outstanding::begin_request() {
  const std::lock_guard lock(mutex_);
  ++all_;
  return {this, requests_.begin(1)};
}

Outstanding::Ticket Outstanding::begin_call() {
  const std::lock_guard lock(mutex_);
  ++all_;
  return {this, std::nullopt};
}

/// Notifies with the lock: who waits for all may take this down.
void Outstanding::end(std::span<Ticket> tickets) noexcept {
  const auto held = std::ranges::find_if(tickets, [](const Ticket& t) { return t.of_ != nullptr; });
  if (held == tickets.end()) return;
  Outstanding& of = *held->of_;
  const std::lock_guard lock(of.mutex_);
  bool epoch_ended = false;
  for (Ticket& ticket : tickets) {
    if (std::exchange(ticket.of_, nullptr) == nullptr) continue;
    --of.all_;
    if (ticket.epoch_ && of.requests_.end(*ticket.epoch_, 1)) epoch_ended = true;
  }
  if (of.all_ == 0 || epoch_ended) of.ended_.notify_all();
}

void Outstanding::wait_for_earlier() {
  std::unique_lock lock(mutex_);
  try {
    const auto later = requests_.next();
    ended_.wait(lock, [&] { return requests_.all_ended_before(later); });
  } catch (const std::bad_alloc&) {
    ended_.wait(lock, [this] { return all_ == 0; });
  }
}

void Outstanding::wait_for_all() noexcept {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return all_ == 0; });
}

}  // namespace framewire::client
