#include <algorithm>
#include <engine/admission.hpp>
#include <utility>

namespace framewire::engine {

void Admission::enter(std::size_t count, std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] {
    return unanswered_ + count <= capacity_ && (unanswered_ == 0 || bytes_ + bytes <= max_bytes_);
  });
  unanswered_ += count;
  bytes_ += bytes;
}

void Admission::grow(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ += bytes;
}

std::size_t Admission::try_enter(std::size_t count, std::function<void()> on_room) {
  const std::lock_guard lock(mutex_);
  const std::size_t admitted = std::min(count, capacity_ - unanswered_);
  if (admitted < count && on_room) on_room_.push_back(std::move(on_room));
  unanswered_ += admitted;
  return admitted;
}

void Admission::leave(std::size_t count, std::uint64_t bytes) noexcept {
  std::vector<std::function<void()>> tell;
  {
    const std::lock_guard lock(mutex_);
    unanswered_ -= count;
    bytes_ -= bytes;
    const std::size_t room = capacity_ - unanswered_;
    // Waking a submitter for every single answer would cost more than the answer.
    if (room >= capacity_ / 16 || unanswered_ == 0) {
      room_.notify_all();
      tell.swap(on_room_);
    }
    if (unanswered_ == 0) idle_.notify_all();
  }
  for (const auto& on_room : tell) try {
      on_room();
    } catch (...) {
      // What a caller's function throws is dropped: the engine has others to serve.
    }
}

void Admission::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return unanswered_ == 0; });
}

}  // namespace framewire::engine
