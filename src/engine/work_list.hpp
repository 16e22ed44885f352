// Requests one behind the other.
#pragma once

#include <cstddef>
#include <engine/work.hpp>
#include <utility>

namespace framewire::engine {

/// Linked through Work::next, so that no change of it allocates: a request that has been admitted
/// always gets to where it is seen to. Not thread-safe.
class WorkList {
 public:
  WorkList() noexcept = default;
  ~WorkList() {
    while (!empty()) (void)pop_front();  // else each destructor would call that of the next
  }
  WorkList(WorkList&& other) noexcept
      : first_(std::move(other.first_)),
        last_(std::exchange(other.last_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  WorkList& operator=(WorkList&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(size_, other.size_);
    return *this;
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Not of an empty list.
  [[nodiscard]] Work& front() const noexcept { return *first_; }

  void push_back(WorkPtr work) noexcept {
    Work* const added = work.get();
    (last_ == nullptr ? first_ : last_->next) = std::move(work);
    last_ = added;
    ++size_;
  }
  void push_front(WorkPtr work) noexcept {
    if (last_ == nullptr) last_ = work.get();
    work->next = std::move(first_);
    first_ = std::move(work);
    ++size_;
  }
  /// Puts all of the other list behind the last of this one.
  void append(WorkList other) noexcept {
    std::swap(*this, other);
    prepend(std::move(other));
  }
  /// Puts all of the other list before the first of this one.
  void prepend(WorkList other) noexcept {
    if (other.empty()) return;
    other.last_->next = std::move(first_);
    if (last_ == nullptr) last_ = other.last_;
    first_ = std::move(other.first_);
    size_ += std::exchange(other.size_, 0);
    other.last_ = nullptr;
  }
  /// Not of an empty list.
  [[nodiscard]] WorkPtr pop_front() noexcept {
    WorkPtr work = std::move(first_);
    first_ = std::move(work->next);
    if (first_ == nullptr) last_ = nullptr;
    --size_;
    return work;
  }

 private:
  WorkPtr first_;
  Work* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace framewire::engine
