// Pictures from submit() to their answer: how many there are, and which make up a group.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <engine/admission.hpp>
#include <memory>
#include <mutex>
#include <split/picture.hpp>
#include <vector>

namespace framewire::split {

/// Admission is the engine's. The queue is not its WorkQueue, whose batches hold no memory and are
/// answered by the lane that took them: a group goes on to others, so that their number is bounded
/// here; its memory is kept for the next; and where memory ran out, its pictures come back in
/// smaller groups and in the end alone. What holds pictures and groups has its memory from the
/// beginning: only next_group() can run out of it. Thread-safe.
class PictureQueue {
 public:
  struct Bounds {
    std::size_t in_flight;  ///< pictures between admit() and their answer; 1 or more
    std::size_t pictures;   ///< of a group
    std::size_t groups;     ///< in work
  };
  /// Throws std::bad_alloc, or std::length_error for more pictures than a vector can hold
  explicit PictureQueue(const Bounds& bounds);

  /// Waits until there is room for one more picture. @param bytes  of its file
  void admit(std::uint64_t bytes) { admission_.enter(1, bytes); }
  /// An admitted picture has been answered without being in a group.
  void answered(const Picture& picture) noexcept { admission_.leave(1, picture.host_bytes); }
  /// An admitted picture waits for its group.
  void push(std::unique_ptr<Picture> picture) noexcept;

  /// Waits for pictures, and until a group may begin. Throws std::bad_alloc, and nothing has
  /// changed then. @return null once ended and empty
  [[nodiscard]] std::shared_ptr<Group> next_group();
  /// Takes the picture that has waited longest, to answer it without a group. @return null where
  /// none waits
  [[nodiscard]] std::unique_ptr<Picture> take_oldest() noexcept;
  /// Ends a group whose pictures have all been answered. Its memory is kept for the next.
  void done(Group& group) noexcept;
  /// Puts back the pictures of a group for which memory ran out: in groups half as large, or, if
  /// there is only one, alone. Groups after them are no larger, since memory would run out again.
  void again(Group& group) noexcept;
  /// Frees the memory that is kept of groups. Only while nothing else is in work.
  void let_go() noexcept;

  /// Waits until every picture has been answered.
  void drain() { admission_.wait_until_idle(); }
  /// Lets next_group() return null.
  void end();

 private:
  [[nodiscard]] bool may_begin() const;

  const Bounds bounds_;
  engine::Admission admission_;
  std::mutex mutex_;
  std::condition_variable work_;                   ///< for those who take groups
  std::vector<std::unique_ptr<Picture>> waiting_;  ///< room for all that are admitted
  std::size_t groups_ = 0;                         ///< in work
  bool alone_ = false;                             ///< the group in work is to be alone
  std::uint64_t group_bytes_;                      ///< decoded samples, beyond a single picture
  std::vector<std::vector<Parcel>> spare_;         ///< memory of groups that are done; room for all
  bool ended_ = false;
};

}  // namespace framewire::split
