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
void Outstanding::end(std::uint64_t epoch) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t first = first_epoch_;
  if (epoch != kNoEpoch) --requests_[epoch - first_epoch_];
  for (; requests_.size() > 1 && requests_.front() == 0; ++first_epoch_) requests_.pop_front();
  if (--all_ == 0 || first_epoch_ != first) ended_.notify_all();
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
