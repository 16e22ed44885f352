#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <store/address.hpp>
#include <store/object_store.hpp>
#include <store/text.hpp>

namespace framewire::store {
namespace {

struct EndpointParts {
  std::string scheme;
  std::string host;
  std::string base;
};

bool is_region(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return base::is_lower(c) || base::is_digit(c) || c == '-';
  });
}

// Letters, digits, '-', '.' and '_'; or an IPv6 address in brackets.
bool is_host(std::string_view text) noexcept {
  const bool brackets = text.size() > 2 && text.front() == '[' && text.back() == ']';
  if (brackets) text = text.substr(1, text.size() - 2);
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), [&](char c) {
    if (brackets) return (base::hex_value(c) >= 0 && !base::is_upper(c)) || c == ':';
    return base::is_lower(c) || base::is_digit(c) || c == '-' || c == '.' || c == '_';
  });
}

bool is_base(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && std::string_view("?#%\\\"<>@").find(c) == std::string_view::npos;
  });
}

Result<EndpointParts> parse_endpoint(std::string_view text) {
  const auto refuse = [&] {
    // What stands before an '@' may be a password.
    const std::string shown =
        text.find('@') == std::string_view::npos ? printable(without_query(text)) : "endpoint";
    return fail(Status(StatusCode::kInvalidInput,
                       "is no endpoint; accepted: http://HOST or https://HOST, with a port, or a "
                       "path of letters, without a user, query or fragment")
                    .about(shown));
  };
  EndpointParts parts;
  for (const std::string_view scheme : {"http", "https"}) {
    const std::string prefix = std::string(scheme) + "://";
    if (base::equals_ignoring_case(text.substr(0, prefix.size()), prefix)) parts.scheme = scheme;
  }
  if (parts.scheme.empty()) return refuse();
  const std::string_view rest = text.substr(parts.scheme.size() + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view base = rest.substr(slash);
  while (base.ends_with('/')) base.remove_suffix(1);

  const std::size_t colon = authority.rfind(':');
  std::string port;
  if (colon != std::string_view::npos && !authority.ends_with(']')) {
    const auto number = parse_number(authority.substr(colon + 1));
    if (!number || *number == 0 || *number > 65'535) return refuse();
    const bool usual = *number == (parts.scheme == "https" ? 443 : 80);
    if (!usual) port = fmt::format(":{}", *number);
    authority = authority.substr(0, colon);
  }
  const std::string host = base::to_lower(authority);
  if (!is_host(host) || !is_base(base)) return refuse();
  parts.host = host + port;
  parts.base = base;
  return parts;
}

}  // namespace

Result<void> check_endpoint(std::string_view endpoint) {
  auto parsed = parse_endpoint(endpoint);
  if (!parsed) return fail(std::move(parsed.error()));
  return {};
}

Result<void> check_region(std::string_view region) {
  if (is_region(region)) return {};
  return fail(
      Status(StatusCode::kInvalidInput, "is no region; accepted: small letters, digits and '-'")
          .about(printable(region)));
}

Result<BucketAddress> BucketAddress::make(const std::string& bucket, const std::string& endpoint,
                                          const std::string& region,
                                          std::optional<bool> path_style) {
  if (auto url = parse_object_url("s3://" + bucket); !url || url->bucket != bucket) {
    return fail(
        Status(StatusCode::kInvalidInput, "is no name of a bucket").about(printable(bucket)));
  }
  if (auto good = check_region(region); !good) return fail(std::move(good.error()));
  EndpointParts parts{
      "https", fmt::format("s3.{}.amazonaws.com{}", region, region.starts_with("cn-") ? ".cn" : ""),
      ""};
  if (!endpoint.empty()) {
    auto parsed = parse_endpoint(endpoint);
    if (!parsed) return fail(std::move(parsed.error()));
    parts = *std::move(parsed);
  }
  // AWS's certificate holds for one label before its own name; a host has no capitals.
  const bool in_host = is_host(bucket) && bucket.find('_') == std::string::npos &&
                       (parts.scheme == "http" || bucket.find('.') == std::string::npos);
  BucketAddress made;
  made.scheme_ = parts.scheme;
  made.region_ = region;
  made.base_ = parts.base;
  if (path_style.value_or(!endpoint.empty() || !in_host)) {
    made.host_ = parts.host;
    made.base_ += '/' + bucket;
  } else if (in_host) {
    made.host_ = bucket + '.' + parts.host;
  } else {
    return fail(Status(StatusCode::kInvalidInput, "cannot be part of a host's name; use path style")
                    .about(bucket));
  }
  return made;
}

Result<BucketAddress> BucketAddress::make_web(const std::string& origin) {
  auto parts = parse_endpoint(origin);
  if (!parts || !parts->base.empty()) {
    return fail(Status(StatusCode::kInvalidInput,
                       "names no web server; accepted: http://HOST/PATH or https://HOST/PATH, with "
                       "a port or without")
                    .about(printable(origin, 300)));
  }
  BucketAddress made;
  made.scheme_ = std::move(parts->scheme);
  made.host_ = std::move(parts->host);
  made.web_ = true;
  return made;
}

std::string BucketAddress::path(std::string_view key) const {
  if (web_) return '/' + std::string(key);
  const std::string encoded = percent_encode(key, true);
  return key.empty() && !base_.empty() ? base_ : base_ + '/' + encoded;
}

}  // namespace framewire::store
