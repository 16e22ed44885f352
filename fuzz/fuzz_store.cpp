// What a server of objects, a shared file of keys and a name on a command line may hold: whatever
// the bytes, what is read of them keeps its bounds, and a message of them has no control
// characters.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <store/address.hpp>
#include <store/environment.hpp>
#include <store/retry.hpp>
#include <store/xml_answers.hpp>
#include <string>

namespace {

using namespace framewire;
using namespace framewire::store;

/// A broken promise ends the run, also where assertions are compiled out.
void require(bool promise) {
  if (!promise) std::abort();
}

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

void check_answers(std::string_view text) {
  if (const auto page = parse_listing(text)) {
    for (const ObjectInfo& object : page->objects) {
      require(!object.key.empty() && object.key.size() <= 1'024);
      require(object.key.find('\0') == std::string::npos && is_one_line(object.etag));
    }
  } else {
    require(page.error().code() == StatusCode::kIoError && is_one_line(page.error().message()));
  }
  if (const auto error = parse_service_error(text)) {
    require(is_one_line(error->code) && is_one_line(error->message) && error->code.size() <= 64);
    (void)code_of_answer(400, error->code);
  }
  (void)parse_upload_id(text);
  (void)is_completion(text);
  (void)parse_assumed_role(text);
}

void check_texts(std::string_view text) {
  require(decode_form_text(percent_encode(text)) == text);
  require(is_one_line(printable(text)));
  (void)parse_iso_time(text);
  const StoreTiming timing;
  const auto wait = parse_retry_after(text, SystemTime{}, timing);
  require(!wait || (wait->count() >= 0 && *wait <= timing.max_retry_after));
  (void)parse_ini(text);
}

void check_web_place(std::string_view text, const ObjectUrl& url) {
  require(is_one_line(url.bucket) && url.bucket.starts_with("http") &&
          url.bucket.find_first_of("@ ") == std::string::npos && text.size() <= 8'192 &&
          text.ends_with(url.key) && is_one_line(url.key));
}

void check_places(std::string_view text) {
  const auto url = parse_object_url(text);
  if (url && is_web_url(text)) {
    check_web_place(text, *url);
  } else if (url) {
    require(url->key.size() <= 1'024 && text.substr(5).starts_with(url->bucket) &&
            text.ends_with(url->key));
    const auto address = BucketAddress::make(url->bucket, "", "us-east-1", {});
    require(address.has_value() && address->origin().ends_with(".amazonaws.com"));
  }
  const auto address = BucketAddress::make("bucket", std::string(text), "us-east-1", {});
  if (address && !text.empty()) {
    require(is_one_line(address->host()) &&
            address->host().find_first_of("/?#@ ") == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_answers(text);
  check_texts(text);
  check_places(text);
  return 0;
}
