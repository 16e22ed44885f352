#include <array>
#include <store/s3/curl_handle.hpp>
#include <store/s3/small_fetch.hpp>
#include <store/xml_answers.hpp>

namespace framewire::store::s3 {
namespace {

struct SmallBody {
  std::string text;
  bool too_large = false;
};

std::size_t on_small_body(char* data, std::size_t size, std::size_t count, void* to) noexcept {
  auto& body = *static_cast<SmallBody*>(to);
  const std::size_t bytes = size * count;
  if (body.text.size() + bytes > kMaxAnswerBytes) {
    body.too_large = true;
    return CURL_WRITEFUNC_ERROR;
  }
  body.text.append(data, bytes);  // reserved: allocates nothing
  return bytes;
}

bool set_small_options(CURL* easy, const SmallFetch& fetch, curl_slist* headers, SmallBody& body,
                       char* error) {
  const bool request =
      set_common_options(easy, fetch.url) && set_option(easy, CURLOPT_HTTPHEADER, headers) &&
      set_option(easy, CURLOPT_CUSTOMREQUEST, fetch.method.c_str()) &&
      (fetch.method == "GET" ||
       (set_option(easy, CURLOPT_POSTFIELDS, fetch.body.c_str()) &&
        set_option(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(fetch.body.size()))));
  const bool bounds =
      set_option(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(fetch.connect.count())) &&
      set_option(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(fetch.total.count())) &&
      (fetch.proxy ||
       (set_option(easy, CURLOPT_PROXY, "") && set_option(easy, CURLOPT_NOPROXY, "*")));
  return request && bounds && set_option(easy, CURLOPT_ERRORBUFFER, error) &&
         set_option(easy, CURLOPT_WRITEFUNCTION, &on_small_body) &&
         set_option(easy, CURLOPT_WRITEDATA, static_cast<void*>(&body));
}

}  // namespace

Result<SmallAnswer> fetch_small(const SmallFetch& fetch) {
  const std::string place = fetch.url.substr(0, fetch.url.find('?'));
  const auto refuse = [&](StatusCode code, std::string why) {
    return fail(Status(code, std::move(why)).about(place));
  };
  const CurlHandle easy(curl_easy_init());
  const CurlList headers = header_list(fetch.headers);
  SmallBody body;
  body.text.reserve(kMaxAnswerBytes);
  std::array<char, CURL_ERROR_SIZE> error{};
  if (!easy || (!headers && !fetch.headers.empty()) ||
      !set_small_options(easy.get(), fetch, headers.get(), body, error.data())) {
    return refuse(StatusCode::kBusy, "libcurl refused a request");
  }
  const CURLcode code = curl_easy_perform(easy.get());
  if (body.too_large) {
    return refuse(StatusCode::kTooLarge,
                  "answered more than " + std::to_string(kMaxAnswerBytes) + " bytes");
  }
  if (code != CURLE_OK) {
    return refuse(code == CURLE_OPERATION_TIMEDOUT ? StatusCode::kDeadline : StatusCode::kIoError,
                  printable(error[0] != '\0' ? error.data() : curl_easy_strerror(code)));
  }
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  return SmallAnswer{static_cast<unsigned>(status), std::move(body.text)};
}

}  // namespace framewire::store::s3
