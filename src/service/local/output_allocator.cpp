#include <algorithm>
#include <bit>
#include <service/local/output_allocator.hpp>

namespace framewire::service::local {
namespace {

constexpr std::size_t kWordBits = 64;

}  // namespace

OutputAllocator::OutputAllocator(std::uint64_t bytes)
    : used_((bytes / kUnitBytes + kWordBits - 1) / kWordBits),
      pieces_(bytes / kUnitBytes),
      free_units_(pieces_.size()) {}

std::optional<std::uint64_t> OutputAllocator::take(std::uint64_t bytes) noexcept {
  if (bytes > free_bytes()) return std::nullopt;
  const std::size_t units = rounded(std::max<std::uint64_t>(bytes, 1)) / kUnitBytes;
  auto found = find(units, next_, pieces_.size());
  if (!found) found = find(units, 0, std::min(next_ + units, pieces_.size()));
  if (!found) return std::nullopt;
  mark(*found, units, true);
  pieces_[*found].units = static_cast<std::uint32_t>(units) & 0x7FFF'FFFF;
  free_units_ -= units;
  next_ = *found + units;
  return *found * kUnitBytes;
}

void OutputAllocator::hand_over(std::uint64_t offset) noexcept {
  if (Piece* const piece = piece_at(offset)) piece->handed_over = 1;
}

bool OutputAllocator::release(std::uint64_t offset) noexcept {
  const Piece* const piece = piece_at(offset);
  if (piece == nullptr || piece->handed_over == 0) return false;
  free(offset / kUnitBytes);
  return true;
}

bool OutputAllocator::give_back(std::uint64_t offset) noexcept {
  if (piece_at(offset) == nullptr) return false;
  free(offset / kUnitBytes);
  return true;
}

OutputAllocator::Piece* OutputAllocator::piece_at(std::uint64_t offset) noexcept {
  if (offset % kUnitBytes != 0 || offset / kUnitBytes >= pieces_.size()) return nullptr;
  Piece& piece = pieces_[offset / kUnitBytes];
  return piece.units == 0 ? nullptr : &piece;
}

/// The first free units in a row between two.
std::optional<std::size_t> OutputAllocator::find(std::size_t units, std::size_t begin,
                                                 std::size_t end) const noexcept {
  while (end - begin >= units) {
    const std::size_t used = next(true, begin, begin + units);
    if (used == begin + units) return begin;
    begin = next(false, used, end);
  }
  return std::nullopt;
}

/// The first unit between two that is used, or that is free; else `end`.
std::size_t OutputAllocator::next(bool used, std::size_t begin, std::size_t end) const noexcept {
  while (begin < end) {
    const std::uint64_t word = used ? used_[begin / kWordBits] : ~used_[begin / kWordBits];
    const std::uint64_t rest = word >> (begin % kWordBits);
    if (rest != 0) return std::min(begin + static_cast<std::size_t>(std::countr_zero(rest)), end);
    begin = (begin / kWordBits + 1) * kWordBits;
  }
  return end;
}

void OutputAllocator::mark(std::size_t begin, std::size_t units, bool used) noexcept {
  for (const std::size_t end = begin + units; begin < end;) {
    const std::size_t count = std::min(kWordBits - begin % kWordBits, end - begin);
    const std::uint64_t bits = (~std::uint64_t{0} >> (kWordBits - count)) << (begin % kWordBits);
    std::uint64_t& word = used_[begin / kWordBits];
    word = used ? word | bits : word & ~bits;
    begin += count;
  }
}

void OutputAllocator::free(std::size_t begin) noexcept {
  mark(begin, pieces_[begin].units, false);
  free_units_ += pieces_[begin].units;
  pieces_[begin] = {};
}

}  // namespace framewire::service::local
