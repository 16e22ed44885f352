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

/// Appends what a piece of a compressed body holds.
/// @return as Body::append(), and bad_answer where that is no gzip
[[nodiscard]] Body::Fault unpack(store::s3::Gunzip& gunzip, std::span<const std::uint8_t> packed,
                                 Body& body) noexcept;
/// The same, until about so much has been unpacked. What Gunzip::unread() tells of then is to be
/// given again, however little it is: there may be more without input, too.
/// @param most  how many bytes; less afterwards by what came of it, and 0 where there is more
/// @return whether that was all
[[nodiscard]] tl::expected<bool, FetchErrorKind> unpack_some(store::s3::Gunzip& gunzip,
                                                             std::span<const std::uint8_t> packed,
                                                             Body& body,
                                                             std::size_t& most) noexcept;

}  // namespace framewire::service::source
