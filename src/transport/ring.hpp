// A queue that keeps its memory: what passes through costs no allocation.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace framewire::transport {

/// First in, first out; grows to what it has held at once.
template <typename T>
class Ring {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == end_; }
  [[nodiscard]] std::size_t size() const noexcept { return end_ - first_; }
  /// The i-th from the front.
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return items_[(first_ + i) & mask()]; }
  [[nodiscard]] T& front() noexcept { return (*this)[0]; }
  [[nodiscard]] T& back() noexcept { return (*this)[size() - 1]; }
  void push_back(const T& item) {
    if (size() == items_.size()) grow();
    items_[end_++ & mask()] = item;
  }
  void pop_front() noexcept { ++first_; }
  void clear() noexcept { first_ = end_; }
  template <typename Unwanted>
  void erase_if(Unwanted unwanted) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!unwanted((*this)[i])) (*this)[kept++] = (*this)[i];
    }
    end_ = first_ + kept;
  }

 private:
  [[nodiscard]] std::size_t mask() const noexcept { return items_.size() - 1; }
  [[gnu::noinline]] void grow() {
    std::vector<T> larger(items_.empty() ? 16 : items_.size() * 2);
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) larger[i] = (*this)[i];
    items_ = std::move(larger);
    first_ = 0;
    end_ = count;
  }

  std::vector<T> items_;  ///< none, or a power of two
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

}  // namespace framewire::transport
