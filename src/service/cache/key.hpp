// Keys of entries: a hash of everything that an entry depends on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace framewire::service::cache {

/// SHA-256. Strangers choose parts of what is hashed, and must not find two texts of one key.
using Key = std::array<std::uint8_t, 32>;

/// The first half of a key: the name of its file. Two keys of one name displace one another, and
/// are never taken for one another, since the file has the whole key.
using EntryName = std::array<std::uint8_t, 16>;

/// The key of texts in this order. Lengths count: {"ab", "c"} is not {"a", "bc"}.
/// @return nothing where the hash could not be computed. Throws std::bad_alloc
[[nodiscard]] std::optional<Key> make_key(std::span<const std::string_view> texts);

[[nodiscard]] EntryName name_of(const Key& key) noexcept;
/// 32 hexadecimal digits; the first two name the subfolder.
[[nodiscard]] std::string to_text(const EntryName& name);
/// @return nothing for any other text, capital digits included
[[nodiscard]] std::optional<EntryName> parse_name(std::string_view text) noexcept;

}  // namespace framewire::service::cache
