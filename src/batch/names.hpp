// Names of outputs: which are usable, which were met before, and whose they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <framewire/batch.hpp>
#include <string>
#include <string_view>
#include <unordered_set>

namespace framewire::batch {

/// Longest name, or path: PATH_MAX, beyond which the kernel opens nothing.
inline constexpr std::size_t kMaxNameBytes = 4096;

/// What the names of unfinished outputs begin and end with.
inline constexpr std::string_view kTemporaryPrefix = ".framewire-";
inline constexpr std::string_view kTemporarySuffix = ".tmp";

/// Whether a file name is one that TemporaryFile gives.
[[nodiscard]] constexpr bool is_temporary_name(std::string_view name) noexcept {
  return name.starts_with(kTemporaryPrefix) && name.ends_with(kTemporarySuffix);
}

/// Names already handed out, as 128-bit hashes: two inputs may not share an output.
class NameSet {
 public:
  /// @return false for a name met before
  bool insert(const std::string& name);
  [[nodiscard]] bool contains(const std::string& name) const;
  void erase(const std::string& name) { seen_.erase(key_of(name)); }

 private:
  using Key = std::array<std::uint64_t, 2>;
  [[nodiscard]] static Key key_of(const std::string& name);
  struct Low {
    std::size_t operator()(const Key& key) const noexcept { return key[1]; }
  };
  std::unordered_set<Key, Low> seen_;
};

/// Whether a name leads to one file below a folder, as Input::name says, that stays there.
/// @return invalid_input, about the name
[[nodiscard]] Result<void> check_name(const std::string& name);

/// A folder's path without slashes at its end, to be shown with names behind it.
[[nodiscard]] std::string without_last_slashes(std::string path);

/// Whether an input belongs to a shard; depends on its name alone, on every machine alike.
[[nodiscard]] bool in_shard(const Shard& shard, const std::string& name) noexcept;
[[nodiscard]] inline bool in_shard(const Shard& shard, const Input& input) noexcept {
  return in_shard(shard, input.name);
}

}  // namespace framewire::batch
