// Shards in object stores, by URLs with braces and wildcards; and prefixes.
#pragma once

#include <dataset/object_outputs.hpp>
#include <dataset/shard_names.hpp>
#include <dataset/store_set.hpp>
#include <framewire/status.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::dataset {

/// Whether a key matches a pattern, in which '*' stands for any bytes and '?' for one, both but
/// '/'. Time: their lengths, multiplied.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view key) noexcept;

/// Whether a word names something that can be asked for: web servers list neither what matches a
/// wildcard nor what lies in a folder. Other words than addresses of web servers are taken.
/// @return invalid_input, about the word without its query
[[nodiscard]] Result<void> check_web_name(const std::string& word);

/// The shards that URLs stand for: braces as expand_braces() has them, '*' and '?' by listing what
/// begins like the URL up to there. Names are what lies below the deepest "folder" that holds all
/// URLs, each up to its first wildcard: they do not depend on what a listing finds.
/// @return invalid_input for a URL that is none, names nothing, or names a shard a second time;
///         too_large for more than kMaxExpandedNames; what the store says
[[nodiscard]] Result<std::vector<NamedShard>> name_object_shards(
    const std::vector<std::string>& urls, StoreSet& stores);

/// The objects below a URL, which ends in '/' or is taken as if it did.
/// @return what parse_object_url() and opening the bucket say
[[nodiscard]] Result<ObjectPrefix> open_prefix(const std::string& url, StoreSet& stores);

}  // namespace framewire::dataset
