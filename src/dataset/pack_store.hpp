// Packed shards in an object store.
#pragma once

#include <dataset/object_outputs.hpp>
#include <dataset/pack_output.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <string>

namespace framewire::dataset {

/// Where in stores packed shards go.
struct PackStoreOptions {
  ShardPattern pattern;
  ObjectPrefix outputs;  ///< the pattern's folder
  ObjectPrefix manifests;
  std::string batch;  ///< the same for batches that pack the same inputs in the same way
};

/// Uploads each shard in parts while it is packed. It is made known where nothing lies under its
/// key, and then its manifest, which is the commit. The last shard of a pattern, where it has no
/// manifest and the mark of this batch, is that of a process that died in between: a batch that
/// resumes packs its inputs again, and replaces it. Nothing else is replaced, and of manifests only
/// those of shards of this pattern that were deleted. Two processes that pack by one pattern are
/// not kept apart at the beginning; the second to make a shard known finds one there, and is
/// refused.
[[nodiscard]] std::unique_ptr<PackOutputs> open_pack_store(PackStoreOptions options);

}  // namespace framewire::dataset
