// Options of framewire report, and what its help says.
#pragma once

#include <command_line/store_options.hpp>
#include <framewire/options.hpp>
#include <string_view>

namespace framewire::app {

inline constexpr OptionSpec kReportOwn[] = {
    {"outputs", "DIR", "", "", "where the output shards are; DIR of the manifests, if not given",
     "Report"},
    {"failures", "", "", "", "print a line for every picture that failed", "Report"},
    {"retry-list", "", "", "", "print only the shards that are to be made again, one a line",
     "Report"},
    {"parquet", "FILE", "", "",
     "write the rows of all manifests to a Parquet file; needs Python with pyarrow", "Report"},
    kEndpointOption,
    kRegionOption,
    kProfileOption,
    kPathStyleOption,
    kRangesOption,
    {"json", "", "", "", "print a report as JSON on standard output", "Output"}};

inline constexpr std::string_view kReportDetails =
    "Reads the manifests that framewire batch has left of tar shards in DIR, a folder or "
    "s3://BUCKET/PREFIX/, and below, and says "
    "what is done, and what failed and why. With the names of the shards that went in, "
    "'train-{000000..000999}.tar' in quotes or @LIST, it says which are missing. Exit code 1 where "
    "a picture has failed or a shard is missing.";

}  // namespace framewire::app
