#include <fmt/format.h>
#include <algorithm>
#include <batch/input_error.hpp>
#include <batch/input_reader.hpp>
#include <batch/read_buffer.hpp>

namespace framewire::batch {

Result<std::size_t> InputReader::read_some(std::span<std::uint8_t> into) {
  const auto got = input_.read(into);
  if (!got) return fail(about_label(got.error(), label_));
  if (*got <= into.size()) return *got;
  return fail(Status(StatusCode::kInternal,
                     fmt::format("its source read {} bytes where {} fit", *got, into.size()))
                  .about(label_));
}

Result<bool> InputReader::starts_like_jpeg() {
  while (head_bytes_ < head_.size()) {
    const auto got = read_some(std::span(head_).subspan(head_bytes_));
    if (!got) return fail(got.error());
    if (*got == 0) return false;
    head_bytes_ += *got;
  }
  return head_[0] == 0xFF && head_[1] == 0xD8;
}

Result<bool> InputReader::fill(std::span<std::uint8_t> into) {
  bool ended = false;
  while (!ended && filled_ < into.size()) {
    const auto got = read_some(into.subspan(filled_));
    if (!got) return fail(got.error());
    filled_ += *got;
    ended = *got == 0;
    if (filled_ > limit_) return fail(over_limit(label_, filled_, limit_));
  }
  return ended;
}

Result<std::span<const std::uint8_t>> InputReader::read(std::span<std::uint8_t> room,
                                                        std::vector<std::uint8_t>& buffer) {
  const std::uint64_t expected = input_.facts().bytes.value_or(0);
  if (expected > limit_) return fail(over_limit(label_, expected, limit_));
  const std::span<const std::uint8_t> head = std::span(head_).first(head_bytes_);
  filled_ = head_bytes_;
  if (std::max<std::uint64_t>(expected, head_bytes_) < room.size()) {
    std::ranges::copy(head, room.begin());
    const auto ended = fill(room);
    if (!ended) return fail(ended.error());
    if (*ended) return room.first(filled_);
    // There is more than was expected, or than anybody knew.
    buffer.resize(next_buffer_bytes(filled_));
    std::copy(room.begin(), room.end(), buffer.begin());
  } else {
    buffer.resize(first_buffer_bytes(expected));
    std::ranges::copy(head, buffer.begin());
  }
  for (;;) {
    const auto ended = fill(buffer);
    if (!ended) return fail(ended.error());
    if (*ended) return std::span(buffer).first(filled_);
    buffer.resize(next_buffer_bytes(filled_));
  }
}

}  // namespace framewire::batch
