// Signatures of URLs: base64url of HMAC-SHA256(key, salt ‖ path), cut to a number of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <service/url/settings.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::url {

inline constexpr std::size_t kMaxSignatureBytes = 32;  ///< of SHA-256

/// The signature of a path, without padding.
/// @param path  from the slash behind the signature on, without query, as repair_path() gives it
/// @param key   not empty
/// @param size  bytes that count, 1 to kMaxSignatureBytes
/// @return invalid_input for an empty key or such a size; internal where libcrypto fails
[[nodiscard]] Result<std::string> sign(std::string_view path, std::span<const std::uint8_t> key,
                                       std::span<const std::uint8_t> salt, std::size_t size);

/// The secrets of a server. Const and safe for any number of threads.
class Signatures {
 public:
  /// @return invalid_input naming the setting: bad hexadecimal digits, an empty key, as many salts
  ///         as keys, a size out of range
  [[nodiscard]] static Result<Signatures> make(const UrlSettings& settings);

  /// Whether any signature passes.
  [[nodiscard]] bool open() const noexcept { return pairs_.empty(); }

  /// Whether one pair of key and salt, or the list of trusted signatures, vouches for the path.
  /// Only the canonical spelling passes: exactly the characters that sign() gives. Takes the same
  /// time for every text of one length. False also where libcrypto fails.
  [[nodiscard]] bool pass(std::string_view signature, std::string_view path) const;

 private:
  struct Pair {
    std::vector<std::uint8_t> key;
    std::vector<std::uint8_t> salt;
  };
  std::vector<Pair> pairs_;
  std::vector<std::string> trusted_;
  std::size_t size_ = kMaxSignatureBytes;
};

}  // namespace framewire::service::url
