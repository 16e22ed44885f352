#include <algorithm>
#include <bit>
#include <service/local/output_allocator.hpp>
#include <utility>

namespace framewire::service::local {
namespace {

constexpr std::size_t kWordBits = 64;

}  // namespace

OutputAllocator::OutputAllocator(std::uint64_t bytes)
    : used_((bytes / kUnitBytes + kWordBits - 1) / kWordBits),
      pieces_(bytes / kUnitBytes),
      free_units_(pieces_.size()) {
  // Behind the last unit nothing is free.
  const std::size_t odd = pieces_.size() % kWordBits;
  if (odd != 0) used_.back() = ~std::uint64_t{0} << odd;
}

std::optional<std::uint64_t> OutputAllocator::take(std::uint64_t bytes) noexcept {
  if (bytes > free_bytes()) return std::nullopt;
  const std::size_t units = rounded(std::max<std::uint64_t>(bytes, 1)) / kUnitBytes;
  if (units >= none_of_) return std::nullopt;
  auto found = find(units, next_);
  if (!found && next_ != 0) found = find(units, 0);
  if (!found) {
    none_of_ = units;
    return std::nullopt;
  }
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

/// The first free units in a row from one on. Goes by words: an area in which every second unit
/// is used has as many runs as half of its units.
std::optional<std::size_t> OutputAllocator::find(std::size_t units,
                                                 std::size_t begin) const noexcept {
  std::uint64_t wanted = ~std::uint64_t{0} << (begin % kWordBits);
  std::size_t run = 0;  // free units up to this word
  for (std::size_t word = begin / kWordBits; word < used_.size(); ++word) {
    const std::uint64_t free = ~used_[word] & std::exchange(wanted, ~std::uint64_t{0});
    const auto ahead = static_cast<std::size_t>(std::countr_one(free));
    if (run + ahead >= units) return word * kWordBits - run;
    if (ahead == kWordBits) {
      run += kWordBits;
      continue;
    }
    if (const auto within = find_within(free, units)) return word * kWordBits + *within;
    run = static_cast<std::size_t>(std::countl_one(free));
  }
  return std::nullopt;
}

/// The first of so many set bits in a row.
std::optional<std::size_t> OutputAllocator::find_within(std::uint64_t bits,
                                                        std::size_t count) noexcept {
  if (count >= kWordBits) return std::nullopt;
  // A bit that is left begins `have` of them.
  for (std::size_t have = 1; have < count && bits != 0;) {
    const std::size_t more = std::min(have, count - have);
    bits &= bits >> more;
    have += more;
  }
  if (bits == 0) return std::nullopt;
  return static_cast<std::size_t>(std::countr_zero(bits));
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
  none_of_ = SIZE_MAX;
}

}  // namespace framewire::service::local
