// Files that are damaged, and files that only look so: what every way to decode must say of them.
#pragma once

#include <cstdint>
#include <framewire/image.hpp>
#include <optional>
#include <string>
#include <vector>

namespace framewire::conformance {

struct DamageCase {
  std::string name;
  std::vector<std::uint8_t> bytes;
  /// A warning that is given, perhaps among others; nothing: the file is legal, or no decoder can
  /// tell, and no warning is given.
  std::optional<WarningKind> expected;
};

/// Sequential files in one scan, with restart markers and without, in several scans, progressive
/// ones; each whole, legal but odd, and damaged in every way that a decoder can tell.
[[nodiscard]] std::vector<DamageCase> all_damage_cases();

/// The same files with one bit flipped, anywhere in their entropy-coded data.
[[nodiscard]] std::vector<DamageCase> flipped_bits(int per_file);

}  // namespace framewire::conformance
