// The header lines of an answer: what of them is read, within bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::store::s3 {

/// Names the write that made an object, so that a writer who lost the answer knows its own.
inline constexpr std::string_view kWriteIdHeader = "x-amz-meta-framewire-write";

/// Reads one answer's lines as they come; those of interim answers (1xx) are forgotten.
class AnswerFields {
 public:
  static constexpr std::size_t kMaxBytes = 64 * 1'024;
  static constexpr unsigned kMaxLines = 256;
  static constexpr std::size_t kMaxLocationBytes = 8 * 1'024;  ///< longer ones are passed over

  /// @return false where the answer is to be given up: too much, no status, lengths or places
  /// that differ
  [[nodiscard]] bool take(std::string_view line);
  /// The empty line behind the head has come.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  unsigned status = 0;
  std::optional<std::uint64_t> length;  ///< Content-Length
  std::string etag;                     ///< as it came, as are all that follow
  std::string content_range;
  std::string date;
  std::string retry_after;
  std::string last_modified;
  std::string bucket_region;
  std::string location;
  std::string write_id;
  std::string content_type;
  std::string content_encoding;
  std::string cache_control;
  std::string expires;

 private:
  [[nodiscard]] bool begin(std::string_view line);
  [[nodiscard]] bool field(std::string_view name, std::string_view value);

  std::size_t bytes_ = 0;
  unsigned lines_ = 0;
  bool complete_ = false;
};

/// "bytes 0-9/100".
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> object_bytes;  ///< nothing for '*'
};
[[nodiscard]] std::optional<ContentRange> parse_content_range(std::string_view value) noexcept;

}  // namespace framewire::store::s3
