// Options of framewire index, and what its help says.
#pragma once

#include <framewire/options.hpp>
#include <string_view>

namespace framewire::app {

inline constexpr OptionSpec kIndexOwn[] = {
    {"format", "WHICH", "dali|wids|both", "both", "which indices to write", "Index"},
    {"wids", "FILE", "", "",
     "the index of wids; if not given, shardindex.json in the folder of the first shard", "Index"},
    {"jobs", "N", "", "", "shards that are read at the same time; as many as cores, if not given",
     "Index"},
    {"quiet", "", "", "", "print errors only", "Output"}};

inline constexpr std::string_view kIndexDetails =
    "SHARD is a tar archive; train-{000000..000999}.tar, in quotes, names a thousand. Writes "
    "beside each shard the index that DALI's readers.webdataset takes (train-000000.idx), and for "
    "all of them the index that WebDataset's wids takes, with numbers of samples and MD5. "
    "Neighbours whose names are equal up to the first dot are one sample.";

}  // namespace framewire::app
