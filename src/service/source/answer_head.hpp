// The head of an origin's answer: what of it is believed, and what it means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <service/source/sources.hpp>
#include <string>
#include <string_view>

namespace framewire::service::source {

/// Reads one answer's header lines as they come, those of interim answers (1xx) and trailers
/// included, which count against the same bounds. Thread safety: one thread at a time.
class AnswerHead {
 public:
  static constexpr std::size_t kMaxBytes = 64 * 1'024;
  static constexpr unsigned kMaxLines = 256;
  static constexpr std::size_t kMaxValueBytes = 1'024;  ///< longer values are taken for absent

  /// What an answer is good for.
  enum class Meaning : std::uint8_t { kBody, kNotModified, kRedirect };

  /// Takes one line, with or without its end. @return false where the answer is to be given up:
  /// too much, a folded line, no name, contradicting lengths. Throws std::bad_alloc
  [[nodiscard]] bool take(std::string_view line);
  /// Whether the last line was the empty one behind a head that is no interim one. Later lines are
  /// trailers, of which nothing is taken.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// @param conditional  the request had a condition, so that a 304 means something
  [[nodiscard]] Fetched<Meaning> judge(bool conditional) const;

  [[nodiscard]] unsigned status() const noexcept { return status_; }
  /// Bytes of the body that follows, if the answer says so.
  [[nodiscard]] std::optional<std::uint64_t> length() const noexcept { return length_; }
  /// The body is compressed once, as gzip: length() is not that of the original.
  [[nodiscard]] bool is_gzip() const noexcept { return gzip_; }
  /// Fills etag, last_modified, content_type, cache_control, expires, age and vary.
  void describe(Original& original) const;
  /// Where a redirect leads; nothing where the answer has no Location, or several.
  [[nodiscard]] const std::optional<std::string>& location() const noexcept { return location_; }

 private:
  [[nodiscard]] bool begin(std::string_view line);
  [[nodiscard]] bool field(std::string_view name, std::string_view value);
  [[nodiscard]] bool is_whole() const noexcept;

  std::size_t bytes_ = 0;
  unsigned lines_ = 0;
  bool complete_ = false;

  unsigned status_ = 0;
  std::optional<std::uint64_t> length_;
  std::optional<std::string> location_;
  bool several_locations_ = false;
  bool gzip_ = false;
  bool encoded_ = false;  ///< with a Content-Encoding besides identity and one gzip
  bool chunked_ = false;
  std::string content_range_;
  std::string etag_;
  std::string last_modified_;
  std::string content_type_;
  std::string cache_control_;
  std::string expires_;
  std::string age_;
  std::string vary_;
};

/// Whether a value is neither empty nor too long and can stand in a header line.
[[nodiscard]] bool is_field_value(std::string_view value) noexcept;

}  // namespace framewire::service::source
