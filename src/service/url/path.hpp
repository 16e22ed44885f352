// A request's target taken apart: signature, options, source.
#pragma once

#include <service/url/request_error.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace framewire::service::url {

/// Longer targets are refused before anything else is done with them.
inline constexpr std::size_t kMaxTargetBytes = 65536;

struct UrlPath {
  std::string signature;
  /// What is signed: begins with a slash; colons and slashes that proxies change are put right.
  std::string text;
  std::size_t source = 0;  ///< where the source begins in `text`; its end where there is none

  [[nodiscard]] std::string_view source_text() const {
    return std::string_view(text).substr(source);
  }
  /// The segments before the source; they point into `text`.
  [[nodiscard]] std::vector<std::string_view> options() const;
};

/// Puts right what proxies change: "%3A" in options, and "https:/" at the head of a plain source.
/// @param path          from behind the signature on, with or without its slash
/// @param separator     of arguments: the first segment without it begins the source
/// @param only_presets  the first segment lists presets, and the source follows
[[nodiscard]] UrlPath repair_path(std::string_view path, std::string_view separator,
                                  bool only_presets);

/// @param target  as in the request's first line; all from the first '?' on is dropped
/// @param prefix  "/images", or empty
/// @return invalid_url without prefix, signature or what is behind it, and for targets that are too
///         long
[[nodiscard]] Parsed<UrlPath> split_target(std::string_view target, std::string_view prefix,
                                           std::string_view separator, bool only_presets);

}  // namespace framewire::service::url
