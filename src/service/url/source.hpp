// The source's part of a path, and what an operator's settings make of it.
#pragma once

#include <framewire/status.hpp>
#include <optional>
#include <service/url/request_error.hpp>
#include <service/url/settings.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::url {

struct RequestedSource {
  std::string url;
  std::string extension;  ///< of the result, as written; empty where none is given
};

/// "plain/URL@EXTENSION" or base64 with ".EXTENSION".
/// @param drops_filename  the last of several segments of base64 is a name for readers
/// @return invalid_url
[[nodiscard]] Parsed<RequestedSource> decode_source(std::string_view text, bool drops_filename);

/// Rewrites the head of URLs: a pattern in which '*' is any run without a slash, as long as can be,
/// and a replacement in which ${1} is what the first of them has matched. Immutable.
class Replacement {
 public:
  static constexpr std::size_t kMaxStars = 8;

  /// @param definition  "pattern=replacement"
  /// @return invalid_input about url_replacements
  [[nodiscard]] static Result<Replacement> make(std::string_view definition);

  /// The URL unchanged where the pattern does not match its head. Time and memory grow with the
  /// URL's length times the pattern's.
  [[nodiscard]] std::string apply(std::string_view url) const;

 private:
  struct Piece {
    std::string text;
    std::size_t group = 0;  ///< put before the text; 0 is none
  };
  [[nodiscard]] std::optional<std::vector<std::size_t>> match(std::string_view url) const;

  std::vector<std::string> literals_;  ///< of the pattern, between its stars
  std::vector<Piece> pieces_;          ///< of the replacement
};

/// Replacements in order, then the base URL in front unless the URL begins with it.
/// @return invalid_url where the result is empty, too long or has control characters
[[nodiscard]] Parsed<std::string> rewrite_source(std::string url,
                                                 const std::vector<Replacement>& replacements,
                                                 std::string_view base_url);

}  // namespace framewire::service::url
