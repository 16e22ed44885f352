// The source of a request: a file's path, an object, or an http(s) URL that all parsers read alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <service/source/address.hpp>
#include <service/source/sources.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::source {

inline constexpr std::size_t kMaxUrlBytes = 8'192;

enum class Scheme : std::uint8_t { kLocal, kHttp, kHttps, kS3 };

[[nodiscard]] std::string_view to_string(Scheme scheme) noexcept;

/// A source in the one form that is compared, logged and fetched.
struct SourceUrl {
  Scheme scheme = Scheme::kLocal;
  /// Lower case, without a dot at its end; an IPv6 address as inet_ntop() writes it, without
  /// brackets. Empty for kLocal. kS3: the bucket, as it was written.
  std::string host;
  std::optional<IpAddress> address;  ///< where the host is an address, not a name
  std::uint16_t port = 0;            ///< never 0 for http(s)
  /// http(s): percent-encoded, dot segments removed; empty, or begins with '/'. kLocal: begins with
  /// '/'; bytes of names as they are; no empty, '.' or '..' segment. kS3: '/', then the key, whose
  /// bytes are as they are; no '.' or '..' segment.
  std::string path;
  /// With its '?', or empty; percent-encoded. kS3: the separator and the version, as they are.
  std::string query;

  /// "http://host:8080/path?query", "local:///path", "s3://bucket/key". Without the scheme's own
  /// port.
  [[nodiscard]] std::string text() const;
  /// "http://host:8080": what connections are counted and kept by.
  [[nodiscard]] std::string origin() const;
};

/// Reads a source. A text without a scheme is a path below the root.
///
/// Refused as kBadUrl: user names and passwords; control characters; backslashes in http(s) URLs;
/// spaces and non-ASCII bytes in hosts; hosts that look like numbers and are not an IPv4 address in
/// its ordinary form; zones; broken escapes; a port outside 1 to 65535; local:// with a host; a
/// local path that leads above the root, or whose last segment is empty; an object without a key,
/// with a name that no bucket can have, a key over 1,024 bytes, or a '.' or '..' segment in it, by
/// which a server that resolves them would leave the bucket. Spaces and non-ASCII bytes in path and
/// query of http(s) URLs are percent-encoded; the fragment is dropped. Any other scheme:
/// kSchemeNotAllowed. Time and memory grow with the length, of which kMaxUrlBytes are read.
/// @param version_separator  as ObjectSettings has it; its first place in a key ends the key
[[nodiscard]] Fetched<SourceUrl> parse_source(std::string_view text,
                                              std::string_view version_separator = "?");

/// Where a redirect leads, seen from the URL that answered it (RFC 3986, 5.2). Only http and https.
/// @return as parse_source(), and kSchemeNotAllowed for local: and s3:
[[nodiscard]] Fetched<SourceUrl> resolve_redirect(const SourceUrl& base, std::string_view location);

/// Splits a path at '/' and drops empty and '.' segments, and each '..' with the segment before it.
/// @return nothing where a '..' leads above the first segment
[[nodiscard]] std::optional<std::vector<std::string_view>> clean_segments(std::string_view path);

/// The value of two hexadecimal digits behind a '%'; −1 if they are none.
[[nodiscard]] int escaped_byte(std::string_view text, std::size_t percent) noexcept;

}  // namespace framewire::service::source
