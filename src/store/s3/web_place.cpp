#include <curl/curl.h>
#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <memory>
#include <store/object_store.hpp>
#include <store/s3/web_place.hpp>
#include <store/text.hpp>

namespace framewire::store::s3 {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
  void operator()(char* part) const noexcept { curl_free(part); }
};
using UrlHandle = std::unique_ptr<CURLU, FreeUrl>;

// Empty where there is no such part.
std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
  return std::unique_ptr<char, FreeUrl>(text).get();
}

}  // namespace

Result<WebPlace> redirected(const std::string& from, const WebPlace* behind,
                            std::string_view location) {
  const auto refuse = [&](const std::string& why) {
    return fail(StatusCode::kInvalidInput, why + hops_text(behind));
  };
  if (location.empty()) {
    return refuse(fmt::format("the server redirects to no address, or to one over {} bytes",
                              WebPlace::kMaxUrlBytes));
  }
  // What stands before an '@' may be a password, and a query a signature.
  const std::string_view before_query = location.substr(0, location.find('?'));
  const std::string shown = before_query.find('@') == std::string_view::npos
                                ? printable(before_query, 500)
                                : "an address with a user in it";
  if (behind != nullptr && behind->hops.size() >= WebPlace::kMaxRedirects) {
    return refuse(fmt::format("the server redirects to {}; accepted: up to {} redirects", shown,
                              WebPlace::kMaxRedirects));
  }
  const UrlHandle url(curl_url());
  if (!url) return fail(StatusCode::kBusy, "memory ran out");
  constexpr unsigned kAsCurlDoes = CURLU_URLENCODE | CURLU_ALLOW_SPACE | CURLU_NON_SUPPORT_SCHEME;
  if (curl_url_set(url.get(), CURLUPART_URL, from.c_str(), CURLU_PATH_AS_IS) != CURLUE_OK ||
      curl_url_set(url.get(), CURLUPART_URL, std::string(location).c_str(), kAsCurlDoes) !=
          CURLUE_OK) {
    return refuse(fmt::format("the server redirects to what is no address: {}", shown));
  }
  const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
  const std::string host = part_of(url.get(), CURLUPART_HOST);
  const bool odd = std::any_of(host.begin(), host.end(), [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7f;
  });
  if (odd) {
    return refuse(fmt::format(
        "the server redirects to {}; accepted: names of hosts in ASCII (xn--…)", shown));
  }
  if (scheme != "http" && scheme != "https") {
    return refuse(fmt::format("the server redirects to {}; accepted: http:// and https://", shown));
  }
  if (scheme == "http" && base::equals_ignoring_case(from.substr(0, 6), "https:")) {
    return refuse(fmt::format("the server redirects from https to {}; accepted: https://", shown));
  }
  // It is the reader's affair, and not sent.
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  WebPlace place{part_of(url.get(), CURLUPART_URL), {}};
  if (place.url.empty() || place.url.size() > WebPlace::kMaxUrlBytes) {
    return refuse(fmt::format("the server redirects to an address of {} bytes; accepted: up to {}",
                              place.url.size(), WebPlace::kMaxUrlBytes));
  }
  // An empty user is one, too.
  const std::size_t authority = place.url.find("://") + 3;
  const std::size_t end = std::min(place.url.find_first_of("/?", authority), place.url.size());
  if (place.url.substr(authority, end - authority).find('@') != std::string::npos) {
    return refuse(
        "the server redirects to an address with a user in it; accepted: https://HOST/PATH");
  }
  if (behind != nullptr) place.hops = behind->hops;
  place.hops.push_back(printable(without_query(place.url), 500));
  return place;
}

std::string hops_text(const WebPlace* place) {
  if (place == nullptr) return {};
  return fmt::format(" (redirected to {})", fmt::join(place->hops, ", then to "));
}

}  // namespace framewire::store::s3
