// Shards by their names, wherever they lie.
#pragma once

#include <dataset/piece_cache.hpp>
#include <dataset/shard_input.hpp>
#include <dataset/shard_names.hpp>
#include <dataset/shard_record.hpp>
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

/// Whether an input is another shard than the one of which a record tells, which is there still,
/// and lies in a folder with another name or has another size. Size and time may agree by chance. A
/// folder that was moved, or copied under its name, has the same shards, and so has an object with
/// the same ETag.
/// @return what a store says that cannot be asked now
[[nodiscard]] Result<bool> is_another_shard(const ShardRecord& recorded,
                                            const ShardInput::Facts& now, StoreSet* stores);
/// What is told of it. @param label  of the output
[[nodiscard]] Status belongs_to_another(const std::string& label, const ShardRecord& recorded,
                                        const std::string& path);

/// Opens a shard: a file, or an object whose ranges lie in a cache.
/// @param stores  null: files alone
/// @param cache   lives as long as the shard
/// @return what ShardFile::open() says; invalid_input where there is no such object; what a store
/// says
[[nodiscard]] Result<std::unique_ptr<ShardInput>> open_shard_input(const NamedShard& shard,
                                                                   StoreSet* stores,
                                                                   PieceCache& cache);

}  // namespace framewire::dataset
