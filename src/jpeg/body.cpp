#include <fmt/format.h>
#include <jpeg/body.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/walker.hpp>

namespace framewire::jpeg {
namespace {

tl::unexpected<Status> refuse(std::string found, std::size_t offset) {
  return fail(Status(StatusCode::kInvalidInput, std::move(found)).at(offset));
}

bool belongs_to_head(std::uint8_t code) {
  return code == marker::kSoi || code == marker::kCom || is_app(code);
}

Result<void> append_segments(std::span<const std::uint8_t> stream, std::vector<std::uint8_t>& out) {
  Walker walker(stream);
  while (auto found = walker.next_marker()) {
    const std::size_t begin = found->offset;
    if (found->skipped != 0) return refuse("bytes that belong to no marker", begin);
    if (found->code != marker::kSoi && found->code != marker::kEoi) {
      if (walker.read_segment(*found) != SegmentState::kWhole) {
        return refuse(fmt::format("a broken {} segment", marker_name(found->code)), begin);
      }
      std::optional<std::size_t> damage;
      if (found->code == marker::kSos) walker.skip_entropy(damage);
      if (damage) return refuse("a marker inside entropy-coded bytes", *damage);
    }
    if (belongs_to_head(found->code)) continue;
    const auto segment = stream.subspan(begin, walker.position() - begin);
    out.insert(out.end(), segment.begin(), segment.end());
    if (found->code == marker::kEoi) return {};
  }
  return refuse("the stream ends without EOI", stream.size());
}

}  // namespace

Result<void> append_body(std::span<const std::uint8_t> stream, std::vector<std::uint8_t>& out) {
  const std::size_t before = out.size();
  auto done = append_segments(stream, out);
  if (!done) out.resize(before);
  return done;
}

}  // namespace framewire::jpeg
