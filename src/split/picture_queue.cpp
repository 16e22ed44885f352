#include <algorithm>
#include <iterator>
#include <split/picture_queue.hpp>
#include <utility>

namespace framewire::split {
namespace {

/// Decoded samples of a group, beyond a single picture, until memory runs out; what the codec needs
/// besides is several times as much.
constexpr std::uint64_t kGroupBytes = 48u << 20;
/// Files, and coefficients that the host has read, of all pictures that wait.
constexpr std::uint64_t kHostBytes = 512u << 20;

std::uint64_t bytes_of(const codec::Coefficients& coefficients) {
  std::uint64_t bytes = 0;
  for (const auto& component : coefficients.components) {
    bytes += component.coefficients.size() * sizeof(std::int16_t);
  }
  return bytes;
}

}  // namespace

PictureQueue::PictureQueue(const Bounds& bounds)
    : bounds_(bounds), admission_(bounds.in_flight, kHostBytes), group_bytes_(kGroupBytes) {
  waiting_.reserve(bounds.in_flight);
  spare_.reserve(bounds.groups);
}

void PictureQueue::push(std::unique_ptr<Picture> picture) noexcept {
  if (picture->coefficients) {
    const std::uint64_t bytes = bytes_of(*picture->coefficients);
    picture->host_bytes += bytes;
    admission_.grow(bytes);
  }
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(picture));
  work_.notify_one();
}

// What is to be alone waits until nothing else is in work, and lets nothing begin.
bool PictureQueue::may_begin() const {
  if (waiting_.empty() || alone_) return false;
  return waiting_.front()->alone ? groups_ == 0 : groups_ < bounds_.groups;
}

std::shared_ptr<Group> PictureQueue::next_group() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [this] { return ended_ || may_begin(); });
  if (waiting_.empty()) return nullptr;
  const bool alone = waiting_.front()->alone;
  const std::size_t most = std::min(waiting_.size(), alone ? 1 : bounds_.pictures);
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  while (count < most) {
    const Picture& next = *waiting_[count];
    bytes += next.decoded_bytes;
    if (count != 0 && (bytes > group_bytes_ || next.alone)) break;
    ++count;
  }
  // All that throws comes first.
  auto group = std::make_shared<Group>();
  group->pictures.reserve(count);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  std::move(waiting_.begin(), end, std::back_inserter(group->pictures));
  waiting_.erase(waiting_.begin(), end);
  ++groups_;
  alone_ = alone;
  if (!spare_.empty() && !alone_) {
    group->parcels = std::move(spare_.back());
    spare_.pop_back();
  }
  return group;
}

std::unique_ptr<Picture> PictureQueue::take_oldest() noexcept {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return nullptr;
  auto picture = std::move(waiting_.front());
  waiting_.erase(waiting_.begin());
  return picture;
}

void PictureQueue::done(Group& group) noexcept {
  std::uint64_t host_bytes = 0;
  for (const auto& picture : group.pictures) host_bytes += picture->host_bytes;
  {
    const std::lock_guard lock(mutex_);
    --groups_;
    alone_ = false;
    // What a lost worker may still touch is not used again.
    if (spare_.size() < spare_.capacity() &&
        std::none_of(group.parcels.begin(), group.parcels.end(),
                     [](const Parcel& parcel) { return parcel.lost.has_value(); })) {
      spare_.push_back(std::move(group.parcels));
    }
  }
  work_.notify_all();
  admission_.leave(group.pictures.size(), host_bytes);
}

void PictureQueue::again(Group& group) noexcept {
  group.parcels.clear();  // freed before anybody tries again, as are those that are too large
  let_go();
  std::uint64_t bytes = 0;
  for (const auto& picture : group.pictures) {
    bytes += picture->decoded_bytes;
    picture->error.reset();
    picture->undecoded = false;
  }
  {
    const std::lock_guard lock(mutex_);
    --groups_;
    if (group.pictures.size() == 1) {
      group.pictures.front()->alone = true;
    } else {
      group_bytes_ = std::min(group_bytes_, bytes / 2);
    }
    // There is room for them: they are admitted still.
    waiting_.insert(waiting_.begin(), std::make_move_iterator(group.pictures.begin()),
                    std::make_move_iterator(group.pictures.end()));
  }
  work_.notify_all();
}

// Freed without the lock: that may take long. Until then nothing is kept, for want of room.
void PictureQueue::let_go() noexcept {
  std::vector<std::vector<Parcel>> kept;
  {
    const std::lock_guard lock(mutex_);
    kept.swap(spare_);
  }
  kept.clear();
  const std::lock_guard lock(mutex_);
  if (spare_.capacity() == 0) spare_.swap(kept);
}

void PictureQueue::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  work_.notify_all();
}

}  // namespace framewire::split
