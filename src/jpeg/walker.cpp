#include <algorithm>
#include <cstring>
#include <jpeg/markers.hpp>
#include <jpeg/walker.hpp>

namespace framewire::jpeg {
namespace {

/// Offset of the next 0xFF from `at`, or the size.
std::size_t find_ff(ByteSpan bytes, std::size_t at) noexcept {
  if (at >= bytes.size()) return bytes.size();
  const void* found = std::memchr(bytes.data() + at, 0xFF, bytes.size() - at);
  if (found == nullptr) return bytes.size();
  return static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - bytes.data());
}

}  // namespace

/// Looks at the clock once enough work is done that the look costs little beside it: every 100 µs
/// or so.
void Walker::spend(std::size_t work) noexcept {
  constexpr std::size_t kWorkBetweenLooks = 4096;  // markers, or pieces of 16 bytes
  work_ += work;
  if (work_ < kWorkBetweenLooks) return;
  steps_left_ -= std::min(steps_left_, work_);
  work_ = 0;
  if (steps_left_ != 0 && !deadline_.passed()) return;
  late_ = true;
  bytes_ = bytes_.first(at_);
}

std::optional<MarkerView> Walker::next_marker() noexcept {
  MarkerView marker;
  while (true) {
    spend(1);
    const std::size_t ff = find_ff(bytes_, at_);
    marker.skipped += ff - at_;
    std::size_t code = ff + 1;
    while (code < bytes_.size() && bytes_[code] == 0xFF) ++code;
    if (code >= bytes_.size()) {
      at_ = bytes_.size();
      return std::nullopt;
    }
    at_ = code + 1;
    if (bytes_[code] != 0) {
      marker.code = bytes_[code];
      marker.offset = code - 1;
      return marker;
    }
    marker.skipped += 2;
  }
}

SegmentState Walker::read_segment(MarkerView& marker) noexcept {
  marker.payload = {};
  if (bytes_.size() - at_ < 2) {
    at_ = bytes_.size();
    return SegmentState::kCut;
  }
  const std::size_t length = read_u16(bytes_, at_);
  at_ += 2;
  if (length < 2) return SegmentState::kShortLength;
  const std::size_t wanted = length - 2;
  const std::size_t there = bytes_.size() - at_;
  marker.payload = bytes_.subspan(at_, wanted < there ? wanted : there);
  at_ += marker.payload.size();
  constexpr std::size_t kBytesPerStep = 16;  // what reading tables of so many bytes costs
  spend(marker.payload.size() / kBytesPerStep);
  return wanted > there ? SegmentState::kCut : SegmentState::kWhole;
}

void Walker::skip_entropy(std::optional<std::size_t>& damage) noexcept {
  while (true) {
    spend(1);
    const std::size_t ff = find_ff(bytes_, at_);
    if (ff + 1 >= bytes_.size()) {
      at_ = bytes_.size();
      return;
    }
    const std::uint8_t code = bytes_[ff + 1];
    if (code == 0xFF) {  // fill byte
      at_ = ff + 1;
      continue;
    }
    if (code >= marker::kSof0 && !is_restart(code)) {
      at_ = ff;
      return;
    }
    if (code != 0 && !is_restart(code) && !damage) damage = ff;
    at_ = ff + 2;
  }
}

}  // namespace framewire::jpeg
