// Manifests of packed shards that are not there: whether a batch that resumes may replace them.
#pragma once

#include <dataset/shard_record.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::dataset {

/// The shard that a batch would make beside such a manifest.
struct MissingShard {
  std::string label;  ///< as rows have it
  std::string path;   ///< as ShardRecord::path
};

/// Whether a manifest tells of that very shard, and not of one that has its name in another folder.
/// @return nothing for manifests of earlier versions, whose rows are to be asked
[[nodiscard]] std::optional<bool> is_manifest_of(const ShardRecord& record,
                                                 const MissingShard& shard);
/// Whether a row tells of that shard, or of a picture that is in none.
[[nodiscard]] bool is_row_of(std::string_view row, const MissingShard& shard);

/// About a manifest that a batch may not replace. @param label  of the manifest
[[nodiscard]] Status is_lone_manifest(const std::string& label);

}  // namespace framewire::dataset
