#include <algorithm>
#include <ipc/area_allocator.hpp>
#include <iterator>
#include <utility>

namespace framewire::ipc {

AreaAllocator::AreaAllocator(std::uint64_t bytes, std::size_t max_pieces)
    : bytes_(bytes / kUnitBytes * kUnitBytes), max_pieces_(max_pieces) {
  if (bytes_ != 0) free_.emplace(0, bytes_);
}

std::optional<std::uint64_t> AreaAllocator::take(std::uint64_t bytes) {
  if (bytes > bytes_ || given_.size() >= max_pieces_) return std::nullopt;
  const std::uint64_t rounded =
      (std::max<std::uint64_t>(bytes, 1) + kUnitBytes - 1) / kUnitBytes * kUnitBytes;
  const auto found = find_free(rounded);
  if (found == free_.end()) return std::nullopt;
  const std::uint64_t offset = found->first;
  given_.emplace(offset, rounded);
  // From here on nothing can throw: the rest keeps its node.
  auto rest = free_.extract(found);
  if (rest.mapped() > rounded) {
    rest.key() += rounded;
    rest.mapped() -= rounded;
    free_.insert(std::move(rest));
  }
  next_ = offset + rounded;
  given_bytes_ += rounded;
  return offset;
}

bool AreaAllocator::give_back(std::uint64_t offset) noexcept {
  const auto piece = given_.find(offset);
  if (piece == given_.end()) return false;
  free(given_.extract(piece));
  return true;
}

AreaAllocator::Pieces::iterator AreaAllocator::find_free(std::uint64_t bytes) {
  const auto fits = [bytes](const auto& piece) { return piece.second >= bytes; };
  const auto from = free_.lower_bound(next_);
  const auto behind = std::find_if(from, free_.end(), fits);
  if (behind != free_.end()) return behind;
  const auto before = std::find_if(free_.begin(), from, fits);
  return before == from ? free_.end() : before;
}

void AreaAllocator::free(Pieces::node_type piece) noexcept {
  given_bytes_ -= piece.mapped();
  auto here = free_.insert(std::move(piece)).position;
  if (const auto behind = std::next(here);
      behind != free_.end() && here->first + here->second == behind->first) {
    here->second += behind->second;
    free_.erase(behind);
  }
  if (here == free_.begin()) return;
  if (const auto before = std::prev(here); before->first + before->second == here->first) {
    before->second += here->second;
    free_.erase(here);
  }
}

}  // namespace framewire::ipc
