#include <fmt/format.h>
#include <openssl/evp.h>
#include <algorithm>
#include <base/ascii.hpp>
#include <service/cache/key.hpp>

namespace framewire::service::cache {

std::optional<Key> make_key(std::span<const std::string_view> texts) {
  std::string all;
  for (const std::string_view text : texts) {
    all += fmt::format("{}:", text.size());
    all += text;
  }
  Key key{};
  unsigned length = 0;
  const bool made =
      EVP_Digest(all.data(), all.size(), key.data(), &length, EVP_sha256(), nullptr) == 1;
  if (!made || length != key.size()) return std::nullopt;
  return key;
}

EntryName name_of(const Key& key) noexcept {
  EntryName name{};
  std::copy_n(key.begin(), name.size(), name.begin());
  return name;
}

std::string to_text(const EntryName& name) { return base::to_hex(name); }

std::optional<EntryName> parse_name(std::string_view text) noexcept {
  EntryName name{};
  if (text.size() != 2 * name.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int digit = base::hex_value(text[i]);
    if (digit < 0 || base::is_upper(text[i])) return std::nullopt;
    name[i / 2] = static_cast<std::uint8_t>(name[i / 2] << 4 | digit);
  }
  return name;
}

}  // namespace framewire::service::cache
