// AWS's signature version 4 of a request.
#pragma once

#include <framewire/status.hpp>
#include <store/text.hpp>
#include <string>
#include <string_view>

namespace framewire::store {

/// What proves who sends a request.
struct S3Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;          ///< empty: of a lasting key
  std::optional<SystemTime> expires;  ///< nothing: never
};

/// What of a request is signed.
struct RequestToSign {
  std::string_view method;        ///< "GET"
  std::string_view encoded_path;  ///< as in the URL: "/bucket/a%20key"
  const TextPairs& query;         ///< names and values without escapes
  const TextPairs& headers;  ///< all of them; names in lower case, "host" and "x-amz-date" included
  std::string_view payload_hash;  ///< SHA-256 of the body, hexadecimal
};
/// What a signature is valid for.
struct SignatureScope {
  SystemTime time;           ///< also the value of x-amz-date
  std::string_view region;   ///< "us-east-1"
  std::string_view service;  ///< "s3"
};

/// "a=1&b=" with everything escaped, sorted as it is signed; also what stands in the URL.
[[nodiscard]] std::string canonical_query(const TextPairs& query);

/// The value of the header Authorization.
///
/// Source: "Create a signed AWS API request", AWS Identity and Access Management User Guide. Paths
/// are taken as they are, as S3 wants it; other services would have them escaped twice.
/// @return as sha256(). Accuracy: AWS's published examples; tests/unit/store/signature_test.cpp
[[nodiscard]] Result<std::string> authorization(const RequestToSign& request,
                                                const SignatureScope& scope,
                                                const S3Credentials& credentials);

}  // namespace framewire::store
