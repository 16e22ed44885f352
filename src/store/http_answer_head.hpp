// The head of an HTTP answer: what of its lines is read, within bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::store {

/// Names the write that made an object, so that a writer who lost the answer knows its own.
inline constexpr std::string_view kWriteIdHeader = "x-amz-meta-framewire-write";
/// ObjectUpload::mark().
inline constexpr std::string_view kMarkHeader = "x-amz-meta-framewire-mark";

/// Reads one answer's header lines as they come. Those of interim answers (1xx) are forgotten and
/// trailers passed over, but count against the same bounds.
class HttpAnswerHead {
 public:
  static constexpr std::size_t kMaxBytes = 64 * 1'024;
  static constexpr unsigned kMaxLines = 256;
  static constexpr std::size_t kMaxValueBytes = 1'024;

  static constexpr std::size_t kMaxLocationBytes = 8 * 1'024;

  /// Takes one line, with or without its end. @return false where the answer is to be given up:
  /// too much, no status, a folded line, no name, a length that is none, another length than
  /// before, or one beside a Transfer-Encoding. Throws std::bad_alloc
  [[nodiscard]] bool take(std::string_view line);
  /// Whether the empty line behind a head that is no interim one has come.
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  /// Whether the status means that Location says where to ask instead.
  [[nodiscard]] bool is_redirect() const noexcept;

  unsigned status = 0;                  ///< 0: no line has come
  std::optional<std::uint64_t> length;  ///< Content-Length
  /// All codings but identity, in the order in which they were applied; empty: none.
  std::string content_encoding;
  std::string location;
  unsigned locations = 0;  ///< how many there were, whatever they said

  // Lists, of all lines together. What is too long, or has control characters, counts as the
  // strictest word: "no-store", "*".
  std::string cache_control;
  std::string vary;

  // As they came, the last of each name; empty where a value is too long or has control characters.
  std::string age;
  std::string bucket_region;
  std::string content_range;
  std::string content_type;
  std::string date;
  std::string etag;
  std::string expires;
  std::string last_modified;
  std::string mark;
  std::string retry_after;
  std::string write_id;

 private:
  [[nodiscard]] bool begin(std::string_view line);
  [[nodiscard]] bool field(std::string_view name, std::string_view value);
  [[nodiscard]] bool take_length(std::string_view value);
  void take_coding(std::string_view value);
  [[nodiscard]] std::string* text_of(std::string_view name) noexcept;

  std::size_t bytes_ = 0;
  unsigned lines_ = 0;
  bool complete_ = false;
  bool transfer_encoded_ = false;
};

/// "bytes 0-9/100".
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> object_bytes;  ///< nothing for '*'
};
/// @return nothing also for a range that does not lie within its object
[[nodiscard]] std::optional<ContentRange> parse_content_range(std::string_view value) noexcept;

}  // namespace framewire::store
