// Heads of HTTP/2: a request's fields become the head that HTTP/1.1's parser reads, so that one set
// of rules holds for both, and an answer's head becomes fields.
#pragma once

#include <cstddef>
#include <optional>
#include <service/http/head.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace framewire::service::http {

/// Takes a request's fields in the order in which they come.
///
/// What nghttp2 has checked before (lower case, pseudo headers once and first, no fields of
/// connections) is refused here as well where it would change the text's meaning.
class Http2Head {
 public:
  explicit Http2Head(const HeadBounds& bounds) : bounds_(bounds) {}

  /// Keeps what is within the bounds; what goes beyond them is a fault, and is forgotten. Throws
  /// std::bad_alloc.
  void add(std::string_view name, std::string_view value);
  /// The whole head as text of HTTP/1.1. A body of unknown length is "chunked", as it would be
  /// there.
  /// @param ended  whether there is no body
  [[nodiscard]] tl::expected<std::string, HeadError> text(bool ended) const;

 private:
  void add_pseudo(std::string_view name, std::string_view value);
  void add_field(std::string_view name, std::string_view value);
  void fault(HeadFault fault, const char* message);

  const HeadBounds bounds_;
  std::string method_;
  std::string target_;
  std::optional<std::string> authority_;
  std::optional<std::string> host_;
  std::string fields_;
  std::size_t bytes_ = 0;
  std::size_t lines_ = 0;
  bool has_length_ = false;
  std::optional<HeadError> fault_;
};

/// An answer's fields, of its head as HTTP/1.1 has it (make_head()). Names are in lower case;
/// fields of connections are left out.
class Http2AnswerHead {
 public:
  struct Line {
    std::string_view name;
    std::string_view value;
    bool changes = false;  ///< with every answer, so that remembering it helps nobody
  };

  /// Throws std::bad_alloc.
  explicit Http2AnswerHead(std::string head);
  Http2AnswerHead(const Http2AnswerHead&) = delete;
  Http2AnswerHead& operator=(const Http2AnswerHead&) = delete;

  /// ":status" is the first.
  [[nodiscard]] const std::vector<Line>& lines() const noexcept { return lines_; }

 private:
  std::string text_;
  std::vector<Line> lines_;
};

}  // namespace framewire::service::http
