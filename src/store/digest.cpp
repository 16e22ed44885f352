#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <climits>
#include <store/digest.hpp>

namespace framewire::store {

Result<Sha256Digest> sha256(std::span<const std::uint8_t> bytes) {
  Sha256Digest digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1 ||
      length != digest.size()) {
    return fail(StatusCode::kInternal, "OpenSSL did not compute SHA-256");
  }
  return digest;
}

Result<Sha256Digest> hmac_sha256(std::span<const std::uint8_t> key, std::string_view message) {
  Sha256Digest digest{};
  unsigned length = 0;
  const auto bytes = as_bytes(message);
  if (key.size() > INT_MAX ||
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes.data(), bytes.size(),
           digest.data(), &length) == nullptr ||
      length != digest.size()) {
    return fail(StatusCode::kInternal, "OpenSSL did not compute HMAC-SHA256");
  }
  return digest;
}

}  // namespace framewire::store
