// SHA-256 and HMAC-SHA256, by OpenSSL.
#pragma once

#include <array>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <string>
#include <string_view>

namespace framewire::store {

using Sha256Digest = std::array<std::uint8_t, 32>;

[[nodiscard]] inline std::span<const std::uint8_t> as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// @return internal where OpenSSL refuses, as it does without memory; so both
[[nodiscard]] Result<Sha256Digest> sha256(std::span<const std::uint8_t> bytes);
[[nodiscard]] Result<Sha256Digest> hmac_sha256(std::span<const std::uint8_t> key,
                                               std::string_view message);

}  // namespace framewire::store
