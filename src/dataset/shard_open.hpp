// Shards by their names, wherever they lie.
#pragma once

#include <dataset/piece_cache.hpp>
#include <dataset/shard_input.hpp>
#include <dataset/shard_names.hpp>
#include <dataset/store_set.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <string>
#include <vector>

namespace framewire::dataset {

/// Names shards: paths as name_shards() does, URLs as name_object_shards() does.
/// @return what those say; invalid_input for paths among URLs
[[nodiscard]] Result<std::vector<NamedShard>> name_all_shards(const std::vector<std::string>& words,
                                                              ShardNaming naming, StoreSet* stores);

/// Whether a path leads to another shard than the one of which a record tells. Size and time may
/// agree by chance. A folder that was moved, or copied under its name, has the same shards.
/// @param recorded, path  as opened, then and now
[[nodiscard]] bool is_another_shard(const std::string& recorded, const std::string& path);

/// Opens a shard: a file, or an object whose ranges lie in a cache.
/// @param stores  null: files alone
/// @param cache   lives as long as the shard
/// @return what ShardFile::open() says; invalid_input where there is no such object; what a store
/// says
[[nodiscard]] Result<std::unique_ptr<ShardInput>> open_shard_input(const NamedShard& shard,
                                                                   StoreSet* stores,
                                                                   PieceCache& cache);

}  // namespace framewire::dataset
