#include <fmt/format.h>
#include <algorithm>
#include <base/running_hash.hpp>
#include <base/stream_copy.hpp>
#include <base/xxh3.hpp>
#include <batch/input_error.hpp>
#include <batch/input_reader.hpp>
#include <batch/read_buffer.hpp>
#include <string>
#include <utility>

namespace framewire::batch {

Result<std::size_t> InputReader::read_some(std::span<std::uint8_t> into) {
  const auto got = input_.read(into);
  if (!got) return fail(about_label(got.error(), label_));
  if (*got <= into.size()) return *got;
  return fail(Status(StatusCode::kInternal,
                     fmt::format("its source read {} bytes where {} fit", *got, into.size()))
                  .about(std::string(label_)));
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

// Pieces stay in this core's caches between the system's copy, the hash and ours.
Result<bool> InputReader::fill_room(std::span<std::uint8_t> room) {
  constexpr std::size_t kPiece = 128u << 10;
  thread_local std::vector<std::uint8_t> piece(kPiece);
  base::RunningHash hash;
  std::size_t held = head_bytes_;
  std::ranges::copy(std::span(head_).first(head_bytes_), piece.begin());
  std::size_t done = 0;
  bool ended = false;
  while (!ended && done < room.size()) {
    const std::size_t most = std::min(kPiece, room.size() - done);
    while (!ended && held < most) {
      const auto got = read_some(std::span(piece).subspan(held, most - held));
      if (!got) return fail(got.error());
      held += *got;
      ended = *got == 0;
      filled_ = done + held;
      if (filled_ > limit_) return fail(over_limit(label_, filled_, limit_));
    }
    if (hashed_) hash.add({piece.data(), held});
    base::stream_copy(room.data() + done, piece.data(), held);
    done += std::exchange(held, 0);
  }
  if (hashed_) hash_ = hash.value();
  return ended;
}

Result<std::span<const std::uint8_t>> InputReader::read(std::span<std::uint8_t> room,
                                                        std::vector<std::uint8_t>& buffer) {
  const std::uint64_t expected = input_.facts().bytes.value_or(0);
  if (expected > limit_) return fail(over_limit(label_, expected, limit_));
  const std::span<const std::uint8_t> head = std::span(head_).first(head_bytes_);
  filled_ = head_bytes_;
  if (std::max<std::uint64_t>(expected, head_bytes_) < room.size()) {
    const auto ended = fill_room(room);
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
    if (*ended) {
      if (hashed_) hash_ = XXH3_64bits(buffer.data(), filled_);
      return std::span(buffer).first(filled_);
    }
    buffer.resize(next_buffer_bytes(filled_));
  }
}

}  // namespace framewire::batch
