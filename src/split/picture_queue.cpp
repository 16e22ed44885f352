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
    : bounds_(bounds), admission_(bounds.in_flight, kHostBytes), group_bytes_(kGroupBytes) {}

void PictureQueue::push(std::unique_ptr<Picture> picture) {
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
  auto group = std::make_shared<Group>();
  std::unique_lock lock(mutex_);
  work_.wait(lock, [this] { return ended_ || may_begin(); });
  if (waiting_.empty()) return nullptr;
  ++groups_;
  alone_ = waiting_.front()->alone;
  std::uint64_t bytes = 0;
  while (!waiting_.empty() && group->pictures.size() < (alone_ ? 1 : bounds_.pictures)) {
    const Picture& next = *waiting_.front();
    bytes += next.decoded_bytes;
    if (!group->pictures.empty() && (bytes > group_bytes_ || next.alone)) break;
    group->pictures.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  if (!spare_.empty() && !alone_) {
    group->parcels = std::move(spare_.back());
    spare_.pop_back();
  }
  return group;
}

void PictureQueue::done(Group& group) {
  std::uint64_t host_bytes = 0;
  for (const auto& picture : group.pictures) host_bytes += picture->host_bytes;
  {
    const std::lock_guard lock(mutex_);
    --groups_;
    alone_ = false;
    // What a lost worker may still touch is not used again.
    if (std::none_of(group.parcels.begin(), group.parcels.end(),
                     [](const Parcel& parcel) { return parcel.lost.has_value(); })) {
      spare_.push_back(std::move(group.parcels));
    }
  }
  work_.notify_all();
  admission_.leave(group.pictures.size(), host_bytes);
}

void PictureQueue::again(Group& group) {
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
    std::move(group.pictures.rbegin(), group.pictures.rend(), std::front_inserter(waiting_));
  }
  work_.notify_all();
}

void PictureQueue::let_go() {
  std::vector<std::vector<Parcel>> kept;
  {
    const std::lock_guard lock(mutex_);
    kept.swap(spare_);
  }
}

void PictureQueue::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  work_.notify_all();
}

}  // namespace framewire::split
