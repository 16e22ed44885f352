// Where redirects of a web server lead.
#pragma once

#include <framewire/status.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::store::s3 {

/// An address that redirects have led to.
struct WebPlace {
  static constexpr std::size_t kMaxRedirects = 10;
  static constexpr std::size_t kMaxUrlBytes = 8'192;

  std::string url;  ///< its query may be a signature
  /// The addresses of all redirects up to this one, without queries: for messages.
  std::vector<std::string> hops;
};

/// Follows one redirect, as curl does on a command line, within bounds.
/// @param from      the address that was asked: the first one, or `behind`'s
/// @param behind    what earlier redirects of the same request have led to; null: this is the first
/// @param location  as the server wrote it: an address, or a part of one
/// @return invalid_input for one redirect too many, for what is no address of a web server, for a
///         user in it, and for http where https was asked
[[nodiscard]] Result<WebPlace> redirected(const std::string& from, const WebPlace* behind,
                                          std::string_view location);

/// " (redirected to https://a/b, then to https://c/d)"; empty where nobody was.
[[nodiscard]] std::string hops_text(const WebPlace* place);

}  // namespace framewire::store::s3
