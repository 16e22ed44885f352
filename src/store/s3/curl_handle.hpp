// Owners of libcurl's objects.
#pragma once

#include <curl/curl.h>
#include <memory>
#include <store/text.hpp>

namespace framewire::store::s3 {

struct FreeCurl {
  void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using CurlHandle = std::unique_ptr<CURL, FreeCurl>;
using CurlList = std::unique_ptr<curl_slist, FreeCurl>;

template <typename T>
[[nodiscard]] bool set_option(CURL* easy, CURLoption option, T value) noexcept {
  return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

/// "name: value" lines; without a value, "name:", a header that libcurl leaves out.
/// @return none where memory ran out
[[nodiscard]] CurlList header_list(const TextPairs& headers);

/// What every request of ours has: one protocol, HTTP/1.1, no redirect that libcurl follows by
/// itself, cookie, .netrc or signal; certificates are checked, by AWS_CA_BUNDLE's authorities where
/// that is set.
/// @return false where libcurl refuses
[[nodiscard]] bool set_common_options(CURL* easy, const std::string& url);

}  // namespace framewire::store::s3
