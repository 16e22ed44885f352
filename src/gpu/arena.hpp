// Plans one allocation: typed slices are handed out first, and have addresses once all are known.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace framewire::gpu {

/// Alignment of allocations, and of slices that many threads read and write in a row.
inline constexpr std::uint64_t kAlignment = 256;
/// Alignment of slices that are read as vectors of four words.
inline constexpr std::uint64_t kVectorAlignment = 16;

/// The parts of an allocation, by what happens to them before anybody reads them. They lie in this
/// order, but for kLate, which begins where kEarlyZeroed does: work that writes there comes behind
/// all that reads the two early parts.
enum class Part : std::uint8_t {
  kUploaded,     ///< a copy of a buffer on the host that is laid out alike
  kFetched,      ///< copied there from elsewhere on the host
  kScratch,      ///< holds anything
  kZeroed,       ///< filled with zeros
  kEarlyZeroed,  ///< filled with zeros; gives its place to kLate
  kEarly,        ///< holds anything, likewise
  kLate,         ///< holds anything
};
inline constexpr std::size_t kPartCount = 7;

/// An array of `count` elements somewhere in a part. Once its arena has been cleared, a slice means
/// nothing.
template <typename T>
struct Slice {
  Part part = Part::kScratch;
  std::uint64_t offset_bytes = 0;  ///< in the part
  std::uint64_t count = 0;         ///< of elements

  [[nodiscard]] std::uint64_t bytes() const noexcept { return count * sizeof(T); }
};

/// The same bytes as a slice of elements of another type.
template <typename To, typename From>
[[nodiscard]] Slice<To> cast(const Slice<From>& slice) noexcept {
  return {slice.part, slice.offset_bytes, slice.bytes() / sizeof(To)};
}

/// Adds up slices. All slices that an arena has handed out fit into total_bytes(), which is then
/// allocated.
class Arena {
 public:
  void clear() noexcept { bytes_ = {}; }

  /// @param count  of elements; 0 is legal
  template <typename T>
  [[nodiscard]] Slice<T> add(Part part, std::uint64_t count,
                             std::uint64_t alignment = kAlignment) noexcept {
    std::uint64_t& end = bytes_[static_cast<std::size_t>(part)];
    const std::uint64_t begin = round_up(end, alignment);
    end = begin + count * sizeof(T);
    return {part, begin, count};
  }
  /// Lets the slice that was last added to a part grow.
  void extend(Part part, std::uint64_t bytes) noexcept {
    bytes_[static_cast<std::size_t>(part)] += bytes;
  }

  [[nodiscard]] std::uint64_t bytes(Part part) const noexcept {
    return bytes_[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] std::uint64_t start(Part part) const noexcept {
    const Part behind = part == Part::kLate ? Part::kEarlyZeroed : part;
    std::uint64_t start = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(behind); ++i) {
      start += round_up(bytes_[i], kAlignment);
    }
    return start;
  }
  /// From the start of kZeroed on, with those of kEarlyZeroed.
  [[nodiscard]] std::uint64_t zeroed_bytes() const noexcept {
    return start(Part::kEarlyZeroed) + bytes(Part::kEarlyZeroed) - start(Part::kZeroed);
  }
  [[nodiscard]] std::uint64_t total_bytes() const noexcept {
    return std::max(end(Part::kEarly), end(Part::kLate));
  }

 private:
  [[nodiscard]] std::uint64_t end(Part part) const noexcept {
    return start(part) + round_up(bytes(part), kAlignment);
  }
  static constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) noexcept {
    return (bytes + to - 1) / to * to;
  }

  std::array<std::uint64_t, kPartCount> bytes_{};
};

/// An arena's allocation: turns slices into addresses. A view.
class Memory {
 public:
  /// @param base   device memory, or the host buffer that Part::kUploaded is written in; aligned to
  ///               kAlignment
  /// @param arena  complete: nothing is added to it any more
  Memory(std::uint8_t* base, const Arena& arena) noexcept : base_(base) {
    for (std::size_t i = 0; i < kPartCount; ++i) starts_[i] = arena.start(static_cast<Part>(i));
  }

  template <typename T>
  [[nodiscard]] T* at(const Slice<T>& slice) const noexcept {
    return reinterpret_cast<T*>(start(slice.part) + slice.offset_bytes);
  }
  /// The slice's address; null for a slice of no elements.
  template <typename T>
  [[nodiscard]] T* at_or_null(const Slice<T>& slice) const noexcept {
    return slice.count == 0 ? nullptr : at(slice);
  }
  [[nodiscard]] std::uint8_t* start(Part part) const noexcept {
    return base_ + starts_[static_cast<std::size_t>(part)];
  }

 private:
  std::uint8_t* base_;
  std::array<std::uint64_t, kPartCount> starts_{};
};

}  // namespace framewire::gpu
