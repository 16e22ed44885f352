// Options of framewire index, and what its help says.
#pragma once

#include <command_line/store_options.hpp>
#include <framewire/options.hpp>
#include <string_view>

namespace framewire::app {

inline constexpr OptionSpec kIndexOwn[] = {
    {"format", "WHICH", "dali|wids|both", "both", "which indices to write", "Index"},
    {"wids", "FILE", "", "",
     "the index of wids; if not given, shardindex.json where the indices go", "Index"},
    {"out", "DIR", "", "",
     "where the indices go, a folder or s3://BUCKET/PREFIX/; beside the shards, if not given",
     "Index"},
    {"jobs", "N", "", "", "shards that are read at the same time; as many as cores, if not given",
     "Index"},
    kEndpointOption,
    kRegionOption,
    kProfileOption,
    kPathStyleOption,
    kRangesOption,
    kStoreMemoryOption,
    {"quiet", "", "", "", "print errors only", "Output"}};

inline constexpr std::string_view kIndexDetails =
    "SHARD is a tar archive; train-{000000..000999}.tar, in quotes, names a thousand, and "
    "'s3://BUCKET/2024/*.tar' all that a listing finds; @LIST reads such names from a file, one a "
    "line. Writes beside each shard the index that "
    "DALI's readers.webdataset takes (train-000000.idx), and for "
    "all of them the index that WebDataset's wids takes, with numbers of samples and MD5. "
    "Neighbours whose names are equal up to the first dot are one sample.";

}  // namespace framewire::app
