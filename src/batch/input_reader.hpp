// Reading one opened input, once, from its beginning to its end.
#pragma once

#include <array>
#include <cstdint>
#include <framewire/batch/source.hpp>
#include <framewire/status.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace framewire::batch {

/// Reads an input of any source within a limit: first as much as tells whether it is a JPEG.
class InputReader {
 public:
  /// @param input, label  live as long as this
  /// @param limit         bytes, at most
  /// @param hashed        whether hash() will be asked for
  InputReader(OpenInput& input, std::string_view label, std::uint64_t limit, bool hashed)
      : input_(input), label_(label), limit_(limit), hashed_(hashed) {}

  /// Whether the input begins with SOI, FF D8 (ITU-T T.81 B.2.1). Called first, once.
  /// @return what the input says
  [[nodiscard]] Result<bool> starts_like_jpeg();
  /// Whether it has turned out to hold nothing.
  [[nodiscard]] bool empty() const noexcept { return head_bytes_ == 0; }

  /// Reads all of it, what was read before included.
  /// @param room    taken where the input fits and one byte is left to find its end by. Written
  ///                past the caches: a device reads it next
  /// @param buffer  taken otherwise, whatever it holds: fresh pages for every input cost as much as
  ///                reading it
  /// @return part of `room` or of `buffer`; too_large beyond the limit, before anything is read
  ///         where the size is known; what the input says; internal for more bytes than fit
  [[nodiscard]] Result<std::span<const std::uint8_t>> read(std::span<std::uint8_t> room,
                                                           std::vector<std::uint8_t>& buffer);
  /// XXH3-64 of what read() gave; only where it was to be hashed.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  // @return whether the end was met; else `room` is full
  [[nodiscard]] Result<bool> fill_room(std::span<std::uint8_t> room);
  // @return whether the end was met; else `into` is full
  [[nodiscard]] Result<bool> fill(std::span<std::uint8_t> into);
  [[nodiscard]] Result<std::size_t> read_some(std::span<std::uint8_t> into);

  OpenInput& input_;
  const std::string_view label_;
  const std::uint64_t limit_;
  const bool hashed_;
  std::uint64_t hash_ = 0;
  std::array<std::uint8_t, 2> head_{};
  std::size_t head_bytes_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace framewire::batch
