#include <algorithm>
#include <engine/admission.hpp>
#include <new>
#include <utility>

namespace framewire::engine {

Admission::Epoch Admission::enter(std::size_t count, std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] {
    return unanswered_ + count <= capacity_ && (unanswered_ == 0 || bytes_ + bytes <= max_bytes_);
  });
  bytes_ += bytes;
  return add(count);
}

Admission::Epoch Admission::enter_at_once(std::size_t count) {
  const std::lock_guard lock(mutex_);
  return add(count);
}

void Admission::grow(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ += bytes;
}

Admission::Admitted Admission::try_enter(std::size_t count, std::function<void()> on_room) {
  const std::lock_guard lock(mutex_);
  const std::size_t admitted = std::min(count, room());
  if (admitted < count && on_room) on_room_.push_back(std::move(on_room));
  return {admitted, add(admitted)};
}

void Admission::leave(std::size_t count, std::uint64_t bytes, Epoch epoch) noexcept {
  std::vector<std::function<void()>> tell;
  {
    const std::lock_guard lock(mutex_);
    unanswered_ -= count;
    const bool epoch_ended = epochs_.end(epoch, count);
    bytes_ -= bytes;
    // Waking a submitter for every single answer would cost more than the answer.
    if (unanswered_ == 0 || (room() != 0 && room() >= capacity_ / 16)) {
      room_.notify_all();
      tell.swap(on_room_);
    }
    if (!tell.empty()) ++telling_;
    if (epoch_ended || unanswered_ == 0) left_.notify_all();
  }
  if (tell.empty()) return;
  for (const auto& on_room : tell) try {
      on_room();
    } catch (...) {
      // What a caller's function throws is dropped: the engine has others to serve.
    }
  tell.clear();
  const std::lock_guard lock(mutex_);
  if (--telling_ == 0) left_.notify_all();
}

void Admission::drain() {
  std::unique_lock lock(mutex_);
  try {
    const Epoch later = epochs_.next();
    left_.wait(lock, [&] { return epochs_.all_ended_before(later); });
  } catch (const std::bad_alloc&) {
    left_.wait(lock, [this] { return unanswered_ == 0; });
  }
}

void Admission::wait_until_idle() {
  std::unique_lock lock(mutex_);
  left_.wait(lock, [this] { return unanswered_ == 0 && telling_ == 0; });
}

/// Room that is left. With the lock.
std::size_t Admission::room() const noexcept {
  return unanswered_ < capacity_ ? capacity_ - unanswered_ : 0;
}

/// With the lock.
Admission::Epoch Admission::add(std::size_t count) noexcept {
  unanswered_ += count;
  return epochs_.begin(count);
}

}  // namespace framewire::engine
