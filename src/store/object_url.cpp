#include <fmt/format.h>
#include <algorithm>
#include <store/object_store.hpp>
#include <store/text.hpp>

namespace framewire::store {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::size_t kMaxKeyBytes = 1'024;

// Names that S3 has ever allowed (capitals and underscores are of old buckets and other servers)
// and that cannot change the meaning of a URL.
bool is_bucket_name(std::string_view name) noexcept {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return name.size() >= 3 && name.size() <= 255 && is_plain(name.front()) &&
         is_plain(name.back()) && name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_plain(c) || c == '-' || c == '.' || c == '_'; });
}

}  // namespace

bool is_object_url(std::string_view text) noexcept { return text.starts_with(kScheme); }

Result<ObjectUrl> parse_object_url(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(Status(StatusCode::kInvalidInput, std::string(why)).about(printable(text)));
  };
  if (!is_object_url(text)) return refuse("is no URL of an object; accepted: s3://BUCKET/KEY");
  const std::string_view place = text.substr(kScheme.size());
  const std::size_t slash = std::min(place.find('/'), place.size());
  ObjectUrl url{std::string(place.substr(0, slash)), ""};
  if (slash < place.size()) url.key = place.substr(slash + 1);
  if (!is_bucket_name(url.bucket)) {
    return refuse(
        "has no name of a bucket behind s3://; accepted: 3 to 255 letters, digits, '-', '.' and "
        "'_', a letter or digit first and last");
  }
  if (url.key.size() > kMaxKeyBytes) {
    return refuse(
        fmt::format("has a key of {} bytes; S3 accepts {}", url.key.size(), kMaxKeyBytes));
  }
  if (url.key.find('\0') != std::string::npos) return refuse("has a key with a NUL in it");
  return url;
}

}  // namespace framewire::store
