// One URL, understood: which source, what to make of it, and how to hand it out.
#pragma once

#include <cstdint>
#include <optional>
#include <service/url/image_options.hpp>
#include <string>
#include <vector>

namespace framewire::service::url {

struct ImageRequest {
  ImageOptions options;

  /// After percent-decoding or base64, replacements and the base URL. Not empty, at most
  /// kMaxSourceUrlBytes, without control characters; otherwise any bytes, not always UTF-8. Whether
  /// the source may be asked is for others to judge.
  std::string source_url;

  // What concerns the answer alone.
  /// Without extension. UTF-8 without control characters, at most kMaxFilenameBytes; quotes and
  /// slashes may occur. Empty counts as unset.
  std::optional<std::string> filename;
  std::optional<bool> return_attachment;
  std::optional<std::int64_t> expires;  ///< Unix seconds; 0 or less is never; not in the past
  std::optional<bool> raw;              ///< hand the source on as it is; `options` do not count
  std::optional<std::string> cachebuster;

  std::vector<std::string> used_presets;  ///< in the order of their first use
};

inline constexpr std::size_t kMaxSourceUrlBytes = 16384;
inline constexpr std::size_t kMaxFilenameBytes = 255;

/// What decides about the answer's bytes besides the source, in one spelling: for cache keys and
/// ETags. Requests whose options mean the same have the same text, whatever names, order, presets
/// or number formats their URLs use. Options at which nothing happens are left out: where a server
/// has other defaults, with_defaults() is to have been called before.
/// It reads as options of a URL again, with ':' as separator. Printable unless the cachebuster is
/// not; the length is bounded by that of the URL and presets.
[[nodiscard]] std::string canonical_text(const ImageRequest& request);

/// The name of the answer's file without its extension: `filename`, else the last part of the
/// source URL's path without its extension, else "image". imgproxy's rule: a query counts as part
/// of the path. At most kMaxFilenameBytes; bytes as in the source URL, for the header's writer to
/// escape.
[[nodiscard]] std::string answer_filename(const ImageRequest& request);

}  // namespace framewire::service::url
