// Attributes in pax headers: records "LENGTH KEY=VALUE\n".
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::dataset::tar {

/// What a pax header says of a member, as far as it matters here; unset: says nothing.
struct PaxAttributes {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
  std::optional<std::int64_t> mtime_s;  ///< rounded down
  std::optional<std::uint64_t> user;
  std::optional<std::uint64_t> group;
  std::optional<std::string> user_name;
  std::optional<std::string> group_name;
  bool sparse = false;                     ///< GNU.sparse.…: the content lacks holes
  std::optional<std::string> sparse_name;  ///< of a sparse file, whose path is one of GNU tar's own

  /// Takes over what `later` says; what it does not say stays.
  void update(const PaxAttributes& later);
};

/// Reads all records. Keys that are not in PaxAttributes are passed over.
/// @return invalid_input for a record whose length is wrong, or a number that is none or out of
/// range
[[nodiscard]] Result<PaxAttributes> parse_records(std::string_view records);

/// Appends a record.
void add_record(std::string& records, std::string_view key, std::string_view value);

}  // namespace framewire::dataset::tar
