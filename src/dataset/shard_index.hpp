// Indices of shards for other programs: DALI's .idx, and the JSON of WebDataset's wids.
#pragma once

#include <cstdint>
#include <dataset/tar/bytes_at.hpp>
#include <framewire/status.hpp>
#include <span>
#include <string>
#include <vector>

namespace framewire::dataset {

/// A file in a shard.
struct IndexEntry {
  std::string extension;
  std::uint64_t offset = 0;  ///< of its content
  std::uint64_t size = 0;
  std::string name;
};

/// Files of each sample, in the order in which they lie there.
struct ShardIndex {
  std::vector<std::vector<IndexEntry>> samples;
};

/// Reads the headers of a whole shard. Files without a key are left out, as both programs do.
/// @param total  how many bytes there are
/// @return what tar::Reader::next() says; unsupported for a sparse file
[[nodiscard]] Result<ShardIndex> index_shard(tar::BytesAt& bytes, std::uint64_t total);

/// The text of DALI's index, version 1.2: "v1.2 SAMPLES", then a line for each sample with
/// "EXTENSION OFFSET SIZE NAME" for each of its files.
/// @return unsupported for a name with white space, at which DALI parts words
[[nodiscard]] Result<std::string> to_dali_index(const ShardIndex& index);

/// One shard of a wids index.
struct WidsShard {
  std::string url;
  std::string md5;  ///< in hexadecimal
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
};

/// The text of "wids-shard-index-v1", shards in the order of their URLs.
[[nodiscard]] std::string to_wids_index(std::vector<WidsShard> shards);

}  // namespace framewire::dataset
