// The bytes of one entry's file: a header of fixed size, the entry's head, its body.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <service/cache/key.hpp>
#include <span>
#include <string>
#include <string_view>

namespace framewire::service::cache {

/// Numbers are little-endian. The checksum is XXH3's of 128 bits over all that is not itself: it
/// finds what was torn or has rotted, not what somebody forged who may write to the folder.
///
///     0  magic         8 bytes, with the format's version
///     8  key          32
///    40  head_bytes    8
///    48  body_bytes    8
///    56  stored_s      8, seconds since 1970
///    64  checksum     16
struct EntryHeader {
  static constexpr std::size_t kBytes = 80;
  static constexpr std::size_t kMaxHeadBytes = 64u << 10;

  Key key{};
  std::uint64_t head_bytes = 0;
  std::uint64_t body_bytes = 0;
  std::int64_t stored_s = 0;
  std::array<std::uint8_t, 16> checksum{};
};

using HeaderBytes = std::array<std::uint8_t, EntryHeader::kBytes>;

[[nodiscard]] std::array<std::uint8_t, 16> checksum_of(const EntryHeader& header,
                                                       std::span<const std::uint8_t> head,
                                                       std::span<const std::uint8_t> body) noexcept;
[[nodiscard]] HeaderBytes write_header(const EntryHeader& header) noexcept;
/// @param file_bytes  of the whole file: the lengths must add up to it
/// @return nothing for anything but a header of this version
[[nodiscard]] std::optional<EntryHeader> read_header(std::span<const std::uint8_t> bytes,
                                                     std::uint64_t file_bytes) noexcept;

/// Fields of an entry's head, one behind the other.
class FieldWriter {
 public:
  void put(std::uint64_t number);
  void put(std::string_view text);
  [[nodiscard]] std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what FieldWriter wrote. Where a field is missing or too long, all that follow are zero or
/// empty, and ended() is false.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::uint8_t> bytes) noexcept : rest_(bytes) {}
  [[nodiscard]] std::uint64_t number() noexcept;
  /// Points into the bytes.
  [[nodiscard]] std::string_view text() noexcept;
  /// Whether every field was there, and nothing follows.
  [[nodiscard]] bool ended() const noexcept { return valid_ && rest_.empty(); }

 private:
  std::span<const std::uint8_t> rest_;
  bool valid_ = true;
};

}  // namespace framewire::service::cache
