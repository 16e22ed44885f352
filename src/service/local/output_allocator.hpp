// What of a client's output area is given out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ipc/layout.hpp>
#include <optional>
#include <vector>

namespace framewire::service::local {

/// Cuts an area into pieces of whole units, without touching the memory itself. The books are a bit
/// and a number of each unit, made once: whatever a client keeps or releases, they do not grow.
/// Pieces that are taken one after the other lie one behind the other where they can. Not
/// thread-safe.
class OutputAllocator {
 public:
  static constexpr std::uint64_t kUnitBytes = ipc::kOutputUnitBytes;

  explicit OutputAllocator(std::uint64_t bytes);

  /// @return the piece's offset; nothing where there is no room
  /// @cost a few instructions for 64 units, and none where as many were missed since the last
  /// release
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes) noexcept;
  /// Allows release() of a piece. @param offset  as taken
  void hand_over(std::uint64_t offset) noexcept;
  /// Gives back a piece that was handed over. @param offset  as the client says
  /// @return false where there is no such piece
  [[nodiscard]] bool release(std::uint64_t offset) noexcept;
  /// Gives back a piece, handed over or not. @return false where there is no such piece
  bool give_back(std::uint64_t offset) noexcept;

  /// Room that a piece of so many bytes takes.
  [[nodiscard]] static constexpr std::uint64_t rounded(std::uint64_t bytes) noexcept {
    return (bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return pieces_.size() * kUnitBytes; }
  /// Free bytes, in any number of pieces.
  [[nodiscard]] std::uint64_t free_bytes() const noexcept { return free_units_ * kUnitBytes; }

 private:
  /// Of the unit at which a piece begins; of all others it is empty.
  struct Piece {
    std::uint32_t units : 31 = 0;
    std::uint32_t handed_over : 1 = 0;
  };

  [[nodiscard]] Piece* piece_at(std::uint64_t offset) noexcept;
  [[nodiscard]] std::optional<std::size_t> find(std::size_t units,
                                                std::size_t begin) const noexcept;
  [[nodiscard]] static std::optional<std::size_t> find_within(std::uint64_t bits,
                                                              std::size_t count) noexcept;
  void mark(std::size_t begin, std::size_t units, bool used) noexcept;
  void free(std::size_t begin) noexcept;

  std::vector<std::uint64_t> used_;  ///< a bit a unit
  std::vector<Piece> pieces_;
  std::size_t free_units_;
  std::size_t next_ = 0;            ///< where the last piece ended
  std::size_t none_of_ = SIZE_MAX;  ///< so many in a row were not found, and none was freed since
};

}  // namespace framewire::service::local
