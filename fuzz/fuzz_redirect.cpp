// Where a web server's Location may lead a request: whatever its bytes, to a web server, never from
// https to http, without a user, within bounds, and into no message with its query. The first byte
// says how many redirects came before.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <store/s3/web_place.hpp>
#include <string>
#include <string_view>

namespace {

using namespace framewire;
using store::s3::WebPlace;

/// A broken promise ends the run, also where assertions are compiled out.
void require(bool promise) {
  if (!promise) std::abort();
}

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

void check(const std::string& from, const WebPlace* behind, std::string_view location) {
  const auto place = store::s3::redirected(from, behind, location);
  if (!place) {
    require(place.error().code() == StatusCode::kInvalidInput);
    require(is_one_line(place.error().message()));
    return;
  }
  const std::string& url = place->url;
  require(url.starts_with("https://") || (url.starts_with("http://") && from.starts_with("http:")));
  require(url.size() <= WebPlace::kMaxUrlBytes && is_one_line(url));
  const std::size_t host = url.find("://") + 3;
  const std::size_t end = std::min(url.find_first_of("/?#", host), url.size());
  require(end > host && url.substr(host, end - host).find('@') == std::string::npos);
  require(url.find('#') == std::string::npos);
  require(place->hops.size() == (behind == nullptr ? 1 : behind->hops.size() + 1));
  require(place->hops.size() <= WebPlace::kMaxRedirects);
  require(is_one_line(place->hops.back()) && place->hops.back().find('?') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view location(reinterpret_cast<const char*>(data) + 1, size - 1);
  WebPlace behind{"https://b.example/d/y.tar?sig=1", {}};
  behind.hops.assign(data[0] % (WebPlace::kMaxRedirects + 2), "https://b.example/d/y.tar");
  check("https://a.example/d/x.tar?sig=1", nullptr, location);
  check("http://[::1]:8080/d/x.tar", nullptr, location);
  if (!behind.hops.empty()) check(behind.url, &behind, location);
  return 0;
}
