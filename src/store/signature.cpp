#include <fmt/format.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <store/digest.hpp>
#include <store/signature.hpp>

namespace framewire::store {
namespace {

// Blanks around a value do not count, and several inside it count as one.
std::string canonical_value(std::string_view value) {
  std::string made;
  for (const char c : base::trim_white(value)) {
    if (c != ' ' || !made.ends_with(' ')) made += c;
  }
  return made;
}

struct CanonicalHeaders {
  std::string lines;  // "host:example.com\n…"
  std::string names;  // "host;x-amz-date"
};

CanonicalHeaders canonical_headers(TextPairs headers) {
  std::stable_sort(headers.begin(), headers.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  CanonicalHeaders made;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const auto& [name, value] = headers[i];
    if (i > 0 && headers[i - 1].first == name) {
      made.lines.back() = ',';
      made.lines += canonical_value(value) + '\n';
      continue;
    }
    made.lines += name + ':' + canonical_value(value) + '\n';
    if (!made.names.empty()) made.names += ';';
    made.names += name;
  }
  return made;
}

// A key for one day, region and service.
Result<Sha256Digest> signing_key(std::string_view secret, std::string_view day,
                                 const SignatureScope& scope) {
  auto key = hmac_sha256(as_bytes(fmt::format("AWS4{}", secret)), day);
  for (const std::string_view step :
       {scope.region, scope.service, std::string_view("aws4_request")}) {
    if (!key) return key;
    key = hmac_sha256(*key, step);
  }
  return key;
}

}  // namespace

std::string canonical_query(const TextPairs& query) {
  TextPairs encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query) {
    encoded.emplace_back(percent_encode(name), percent_encode(value));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string made;
  for (const auto& [name, value] : encoded) {
    if (!made.empty()) made += '&';
    made += name + '=' + value;
  }
  return made;
}

Result<std::string> authorization(const RequestToSign& request, const SignatureScope& scope,
                                  const S3Credentials& credentials) {
  const CanonicalHeaders headers = canonical_headers(request.headers);
  const std::string canonical = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method,
                                            request.encoded_path, canonical_query(request.query),
                                            headers.lines, headers.names, request.payload_hash);
  const auto hash = sha256(as_bytes(canonical));
  if (!hash) return fail(hash.error());
  const std::string time = basic_iso_time(scope.time);
  const std::string day = time.substr(0, 8);
  const std::string place = fmt::format("{}/{}/{}/aws4_request", day, scope.region, scope.service);
  const auto key = signing_key(credentials.secret_access_key, day, scope);
  if (!key) return fail(key.error());
  const auto signature = hmac_sha256(
      *key, fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, place, base::to_hex(*hash)));
  if (!signature) return fail(signature.error());
  return fmt::format("AWS4-HMAC-SHA256 Credential={}/{},SignedHeaders={},Signature={}",
                     credentials.access_key_id, place, headers.names, base::to_hex(*signature));
}

}  // namespace framewire::store
