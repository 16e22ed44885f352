#include <fmt/format.h>
#include <algorithm>
#include <service/url/image_request.hpp>
#include <service/url/source.hpp>
#include <service/url/text.hpp>

namespace framewire::service::url {
namespace {

tl::unexpected<RequestError> bad_source(std::string message) {
  return refuse(RequestErrorKind::kInvalidUrl, "", "source: " + std::move(message));
}

Parsed<RequestedSource> decode_plain(std::string_view text) {
  const auto parts = split(text, "@");
  if (parts.size() > 2) {
    return bad_source("found more than one @; accepted: URL@EXTENSION, with %40 in the URL");
  }
  auto url = percent_decode(parts[0]);
  if (!url) return bad_source("found a % without two hexadecimal digits; write %25");
  return RequestedSource{*std::move(url), std::string(parts.size() > 1 ? parts[1] : "")};
}

Parsed<RequestedSource> decode_base64(std::string_view text, bool drops_filename) {
  if (drops_filename) {
    if (const std::size_t slash = text.rfind('/'); slash != std::string_view::npos) {
      text = text.substr(0, slash);
    }
  }
  const std::string joined = replace_all(text, "/", "");
  const auto parts = split(joined, ".");
  if (parts.size() > 2) return bad_source("found more than one dot in base64");
  const std::string_view digits = parts[0].substr(0, parts[0].find_last_not_of('=') + 1);
  auto url = base64url_decode(digits);
  if (!url) {
    return bad_source(
        "found neither plain/ nor URL-safe base64; an option without arguments ends the options");
  }
  return RequestedSource{*std::move(url), std::string(parts.size() > 1 ? parts[1] : "")};
}

}  // namespace

Parsed<RequestedSource> decode_source(std::string_view text, bool drops_filename) {
  auto source = text.starts_with(kPlainPrefix) ? decode_plain(text.substr(kPlainPrefix.size()))
                                               : decode_base64(text, drops_filename);
  if (source && source->url.empty()) return bad_source("it is missing");
  return source;
}

Parsed<std::string> rewrite_source(std::string url, const std::vector<Replacement>& replacements,
                                   std::string_view base_url) {
  const auto too_long = [&] { return url.size() > kMaxSourceUrlBytes; };
  for (const Replacement& replacement : replacements) {
    if (too_long()) break;
    url = replacement.apply(url);
  }
  if (!url.starts_with(base_url)) url.insert(0, base_url);
  if (too_long()) {
    return bad_source(fmt::format("its URL has more than {} bytes", kMaxSourceUrlBytes));
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (url.empty() || std::any_of(url.begin(), url.end(), is_control)) {
    return bad_source("its URL is empty or has control characters");
  }
  return url;
}

}  // namespace framewire::service::url
