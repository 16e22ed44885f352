#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <array>
#include <base/ascii.hpp>
#include <climits>
#include <service/url/signature.hpp>
#include <service/url/text.hpp>

namespace framewire::service::url {
namespace {

bool equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// A message never repeats the digits: they are secret.
Result<std::vector<std::uint8_t>> read_secret(std::string_view text, const char* setting,
                                              std::size_t number) {
  auto bytes = hex_decode(base::trim_white(text));
  if (!bytes || bytes->empty()) {
    return fail(Status(StatusCode::kInvalidInput,
                       fmt::format("entry {} is empty, or is not made of pairs of hexadecimal "
                                   "digits",
                                   number))
                    .about(setting));
  }
  return *std::move(bytes);
}

}  // namespace

Result<std::string> sign(std::string_view path, std::span<const std::uint8_t> key,
                         std::span<const std::uint8_t> salt, std::size_t size) {
  if (size < 1 || size > kMaxSignatureBytes) {
    return fail(
        StatusCode::kInvalidInput,
        fmt::format("found a signature size of {}; accepted: 1 to {}", size, kMaxSignatureBytes));
  }
  if (key.empty() || key.size() > INT_MAX) {
    return fail(StatusCode::kInvalidInput, "the key is empty or larger than 2 GiB");
  }
  std::vector<std::uint8_t> message(salt.begin(), salt.end());
  message.insert(message.end(), path.begin(), path.end());
  std::array<std::uint8_t, kMaxSignatureBytes> digest{};
  unsigned int length = 0;
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), message.data(), message.size(),
            digest.data(), &length) ||
      length != digest.size()) {
    return fail(StatusCode::kInternal, "libcrypto did not compute HMAC-SHA256");
  }
  return base64url_encode(std::span(digest).first(size));
}

Result<Signatures> Signatures::make(const UrlSettings& settings) {
  Signatures made;
  if (settings.keys.size() != settings.salts.size()) {
    return fail(Status(StatusCode::kInvalidInput,
                       fmt::format("found {} keys and {} salts; each key needs its salt",
                                   settings.keys.size(), settings.salts.size()))
                    .about("keys"));
  }
  if (settings.signature_size < 1 ||
      settings.signature_size > static_cast<int>(kMaxSignatureBytes)) {
    return fail(
        Status(StatusCode::kInvalidInput, fmt::format("found {}; accepted: 1 to {} bytes",
                                                      settings.signature_size, kMaxSignatureBytes))
            .about("signature-size"));
  }
  for (std::size_t i = 0; i < settings.keys.size(); ++i) {
    auto key = read_secret(settings.keys[i], "keys", i + 1);
    if (!key) return fail(key.error());
    auto salt = read_secret(settings.salts[i], "salts", i + 1);
    if (!salt) return fail(salt.error());
    made.pairs_.push_back({*std::move(key), *std::move(salt)});
  }
  for (const std::string& trusted : settings.trusted_signatures) {
    if (trusted.empty() || trusted.find_first_of("/?") != std::string::npos) {
      return fail(Status(StatusCode::kInvalidInput,
                         "an entry is empty or contains / or ?, so that no URL could have it")
                      .about("trusted-signatures"));
    }
    made.trusted_.push_back(trusted);
  }
  made.size_ = static_cast<std::size_t>(settings.signature_size);
  return made;
}

bool Signatures::pass(std::string_view signature, std::string_view path) const {
  bool passes = open();
  for (const std::string& trusted : trusted_) passes |= equal(signature, trusted);
  for (const Pair& pair : pairs_) {
    const auto expected = sign(path, pair.key, pair.salt, size_);
    passes |= expected && equal(signature, *expected);
  }
  return passes;
}

}  // namespace framewire::service::url
