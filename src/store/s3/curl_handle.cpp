#include <store/environment.hpp>
#include <store/s3/curl_handle.hpp>

namespace framewire::store::s3 {

CurlList header_list(const TextPairs& headers) {
  CurlList list;
  for (const auto& [name, value] : headers) {
    const std::string line = name + (value.empty() ? ":" : ": ") + value;
    curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) return nullptr;
    (void)list.release();
    list.reset(longer);
  }
  return list;
}

bool set_common_options(CURL* easy, const std::string& url) {
  static const std::optional<std::string> authorities = process_environment("AWS_CA_BUNDLE");
  const char* const protocol = url.starts_with("https:") ? "https" : "http";
  return set_option(easy, CURLOPT_URL, url.c_str()) && set_option(easy, CURLOPT_PATH_AS_IS, 1L) &&
         set_option(easy, CURLOPT_USERAGENT, "framewire") &&
         set_option(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1)) &&
         set_option(easy, CURLOPT_HTTP09_ALLOWED, 0L) &&
         set_option(easy, CURLOPT_FOLLOWLOCATION, 0L) &&
         set_option(easy, CURLOPT_PROTOCOLS_STR, protocol) &&
         set_option(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED)) &&
         set_option(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L) &&
         set_option(easy, CURLOPT_NOSIGNAL, 1L) && set_option(easy, CURLOPT_TCP_KEEPALIVE, 1L) &&
         // What a proxy answers to CONNECT is no answer of the server's.
         set_option(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) &&
         set_option(easy, CURLOPT_SSL_VERIFYPEER, 1L) &&
         set_option(easy, CURLOPT_SSL_VERIFYHOST, 2L) &&
         set_option(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) &&
         (!authorities || set_option(easy, CURLOPT_CAINFO, authorities->c_str()));
}

}  // namespace framewire::store::s3
