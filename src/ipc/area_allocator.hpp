// Cuts an area of memory into pieces, without touching the memory itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace framewire::ipc {

/// What is given out of an area, and what is free: private to the end that gives it out. Pieces
/// that are taken one after the other lie one behind the other where they can. Not thread-safe.
class AreaAllocator {
 public:
  static constexpr std::uint64_t kUnitBytes = 64;

  /// @param bytes       of the area
  /// @param max_pieces  given out at a time; bounds what the books cost
  AreaAllocator(std::uint64_t bytes, std::size_t max_pieces);

  /// @return the piece's offset; nothing where there is no room. Throws std::bad_alloc, and then
  ///         has taken nothing
  /// @cost a look at each free piece: at most max_pieces + 1
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes);
  /// Gives back a piece. @param offset  as taken @return false where there is no such piece
  bool give_back(std::uint64_t offset) noexcept;

  [[nodiscard]] std::size_t given() const noexcept { return given_.size(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Free bytes, in any number of pieces.
  [[nodiscard]] std::uint64_t free_bytes() const noexcept { return bytes_ - given_bytes_; }

 private:
  using Pieces = std::map<std::uint64_t, std::uint64_t>;  ///< offset, bytes

  [[nodiscard]] Pieces::iterator find_free(std::uint64_t bytes);
  void free(Pieces::node_type piece) noexcept;

  const std::uint64_t bytes_;
  const std::size_t max_pieces_;
  Pieces free_;  ///< no two touch
  Pieces given_;
  std::uint64_t given_bytes_ = 0;
  std::uint64_t next_ = 0;  ///< where the last piece ended
};

}  // namespace framewire::ipc
