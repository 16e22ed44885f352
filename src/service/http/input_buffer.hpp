// What a client has sent and nobody has read yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace framewire::service::http {

/// Bytes in a row, with room behind them. Memory does not move while a read is under way: only
/// prepare() moves it.
class InputBuffer {
 public:
  static constexpr std::size_t kFirstBytes = 4096;

  [[nodiscard]] std::string_view view() const noexcept {
    return {bytes_.get() + begin_, end_ - begin_};
  }
  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }

  /// Room for a read: what is free, or made free by moving and growing, up to `max` bytes in all.
  /// @return empty where the buffer is full
  [[nodiscard]] std::span<char> prepare(std::size_t max) {
    if (begin_ == end_) {
      begin_ = end_ = 0;
      // A large head of an earlier request is no reason to keep its memory.
      if (capacity_ > kFirstBytes) reallocate(std::min(kFirstBytes, max));
    }
    if (end_ == capacity_ && begin_ > 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, size());
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == capacity_) {
      if (capacity_ >= max) return {};
      reallocate(std::min(std::max(kFirstBytes, capacity_ * 2), max));
    }
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void commit(std::size_t bytes) noexcept { end_ += bytes; }
  void consume(std::size_t bytes) noexcept { begin_ += std::min(bytes, size()); }
  void clear() noexcept { begin_ = end_; }

 private:
  void reallocate(std::size_t capacity) {
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (size() != 0) std::memcpy(larger.get(), bytes_.get() + begin_, size());
    end_ -= begin_;
    begin_ = 0;
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace framewire::service::http
