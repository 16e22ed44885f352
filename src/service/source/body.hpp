// The bytes of one original as they come, within their bounds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <service/source/settings.hpp>
#include <service/source/sources.hpp>
#include <span>
#include <store/s3/gunzip.hpp>
#include <vector>

namespace framewire::service::source {

/// Bytes that all fetches under way may hold together. Thread safety: all members.
class Budget {
 public:
  explicit Budget(std::size_t bytes) noexcept : left_(bytes) {}
  [[nodiscard]] bool take(std::size_t bytes) noexcept;
  void give_back(std::size_t bytes) noexcept { left_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> left_;
};

/// Bytes with the owner that keeps them.
struct KeptBytes {
  std::span<std::uint8_t> bytes;
  std::shared_ptr<const void> keeper;
};

/// Takes the bytes of one original. With the length known, memory of SourceSettings::allocate is
/// taken once and filled; else pieces of ordinary memory are collected and copied once at the end.
/// What it holds counts against the budget until it is destroyed or take() is called.
/// Functions answer nothing, or why there is no original: too_large, busy, truncated.
/// Thread safety: one thread at a time.
class Body {
 public:
  using Fault = std::optional<FetchErrorKind>;

  /// @param may_hold  FetchRequest::may_hold; stays as long as this
  Body(const Allocate& allocate, Budget& budget, std::size_t max_bytes,
       const std::function<bool(std::size_t, std::size_t)>& may_hold) noexcept
      : allocate_(allocate), budget_(budget), max_bytes_(max_bytes), may_hold_(may_hold) {}
  ~Body() { reset(); }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  /// Forgets what came before: another answer begins.
  void reset() noexcept;
  /// The length is known: takes memory for it.
  [[nodiscard]] Fault expect(std::uint64_t bytes) noexcept;
  /// Copies what came. More than was expected is too_large.
  [[nodiscard]] Fault append(std::span<const std::uint8_t> bytes) noexcept;
  /// The memory that is not yet filled, after expect(); filled by the caller, then advance().
  [[nodiscard]] std::span<std::uint8_t> unfilled() const noexcept;
  void advance(std::size_t bytes) noexcept { filled_ += bytes; }
  /// Everything has come. @return the bytes; kTruncated where fewer came than were expected
  [[nodiscard]] tl::expected<KeptBytes, FetchErrorKind> take() noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return filled_; }

 private:
  [[nodiscard]] Fault reserve(std::size_t bytes) noexcept;
  [[nodiscard]] Fault add(std::span<const std::uint8_t> bytes) noexcept;
  [[nodiscard]] tl::expected<KeptBytes, FetchErrorKind> allocate(std::size_t bytes) noexcept;

  const Allocate& allocate_;
  Budget& budget_;
  std::size_t max_bytes_;
  const std::function<bool(std::size_t, std::size_t)>& may_hold_;
  std::size_t reserved_ = 0;
  std::size_t filled_ = 0;
  std::optional<std::size_t> expected_;
  KeptBytes memory_;
  std::vector<std::vector<std::uint8_t>> pieces_;
};

/// Unpacks a body that is compressed as gzip, a little in each turn of a loop that serves others,
/// too: a kilobyte may be a megabyte.
/// Thread safety: one thread at a time.
class BodyUnpacker {
 public:
  /// @param body  takes what is unpacked; outlives this
  explicit BodyUnpacker(Body& body) noexcept : body_(body) {}

  /// Where this is not all, the bytes are brought again in the next turn, in one piece or several,
  /// with what follows them: libcurl keeps what it was not relieved of.
  /// @return whether all has been unpacked; otherwise as Body::append(), and bad_answer where that
  ///         is no gzip
  [[nodiscard]] tl::expected<bool, FetchErrorKind> append(
      std::span<const std::uint8_t> packed) noexcept;
  void begin_turn() noexcept { left_bytes_ = kUnpackedInATurn; }
  /// As Gunzip::ended().
  [[nodiscard]] bool ended() const noexcept { return gunzip_.ended(); }

 private:
  /// It takes about a millisecond.
  static constexpr std::size_t kUnpackedInATurn = 256 * 1'024;

  [[nodiscard]] tl::expected<bool, FetchErrorKind> unpack(
      std::span<const std::uint8_t> packed) noexcept;

  Body& body_;
  store::s3::Gunzip gunzip_;
  std::size_t left_bytes_ = kUnpackedInATurn;  ///< to unpack in this turn
  std::size_t known_bytes_ = 0;  ///< of what is brought next: they were read, and come again
};

}  // namespace framewire::service::source
