// Arrays that the host collects element by element and uploads as part of a batch.
#pragma once

#include <cstddef>
#include <cstring>
#include <gpu/arena.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace framewire::gpu {

/// An element that names slices. resolve() turns it into what the device reads, once slices have
/// addresses.
template <typename T>
concept Resolvable = requires(const T& entry, const Memory& device) {
  entry.resolve(device);
};

template <typename T>
struct ResolvedAs {
  using Type = T;
};
template <Resolvable T>
struct ResolvedAs<T> {
  using Type = decltype(std::declval<const T&>().resolve(std::declval<const Memory&>()));
};

/// One such array, in this order: add() while a batch is planned, lay_out(), write(), and at() for
/// the kernels.
/// @tparam T  what the device reads, or something Resolvable
template <typename T>
class UploadList {
 public:
  using Element = typename ResolvedAs<T>::Type;
  static_assert(std::is_trivially_copyable_v<Element>);

  void clear() noexcept { entries_.clear(); }
  void add(const T& entry) { entries_.push_back(entry); }

  void lay_out(Arena& arena) { slice_ = arena.add<Element>(Part::kUploaded, entries_.size()); }
  /// @param host    the buffer that is uploaded
  /// @param device  the memory that it is uploaded to, for the addresses inside elements
  void write(const Memory& host, const Memory& device) const {
    Element* const to = host.at(slice_);
    if constexpr (Resolvable<T>) {
      for (std::size_t i = 0; i < entries_.size(); ++i) to[i] = entries_[i].resolve(device);
    } else if (!entries_.empty()) {
      std::memcpy(to, entries_.data(), entries_.size() * sizeof(T));
    }
  }
  [[nodiscard]] Element* at(const Memory& device) const noexcept { return device.at(slice_); }

  /// Bound on what lay_out() will add to an arena.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return entries_.size() * sizeof(Element) + kAlignment;
  }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(entries_.size());
  }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] const T& operator[](std::size_t index) const { return entries_[index]; }
  [[nodiscard]] const std::vector<T>& entries() const noexcept { return entries_; }

 private:
  std::vector<T> entries_;
  Slice<Element> slice_;
};

}  // namespace framewire::gpu
