// Pictures that are named one by one: objects of stores, and files of web servers.
#pragma once

#include <cstdint>
#include <dataset/shard_names.hpp>
#include <dataset/store_set.hpp>
#include <framewire/batch/source.hpp>
#include <memory>
#include <vector>

namespace framewire::dataset {

/// Every picture as name_object_shards() names it. A picture is read whole when it is opened, by
/// the thread that opens it: many threads at once make up for a server's latency. Memory: the
/// names, and what those threads hold.
/// @param max_bytes  of one picture; a larger one is too_large
[[nodiscard]] std::unique_ptr<batch::Source> open_named_objects(std::vector<NamedShard> pictures,
                                                                std::shared_ptr<StoreSet> stores,
                                                                std::uint64_t max_bytes);

}  // namespace framewire::dataset
