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
                                                              StoreSet* stores);

/// Opens a shard: a file, or an object whose ranges lie in a cache.
/// @param stores  null: files alone
/// @param cache   lives as long as the shard
/// @return what ShardFile::open() says; io_error where there is no such object; what a store says
[[nodiscard]] Result<std::unique_ptr<ShardInput>> open_shard_input(const NamedShard& shard,
                                                                   StoreSet* stores,
                                                                   PieceCache& cache);

}  // namespace framewire::dataset
