// Options of framewire batch that make shards of files and files of shards, and its metrics.
#pragma once

#include <framewire/options.hpp>

namespace framewire::app {

inline constexpr OptionSpec kBatchPacking[] = {
    {"pack", "BYTES", "", "",
     "pack pictures into tar shards of about that size, such as 1G; OUT_DIR is a pattern such as "
     "'shards/%06d.tar'",
     "Shards"},
    {"unpack", "", "", "", "make a file of each picture in tar shards", "Shards"},
    {"sidecars", "LIST", "", "",
     "with --pack: pack files with these extensions with the picture of their name, as in "
     "txt,json,cls; with --unpack: make files of such members too",
     "Shards"},
    {"key-dots", "WHAT", "keep|underscore", "keep",
     "with --pack: what becomes of dots before a name's extension, at the first of which "
     "WebDataset ends the key of a sample",
     "Shards"},
    {"metrics-file", "FILE", "", "",
     "write counters for Prometheus to a file, every five seconds and at the end", "Output"}};

}  // namespace framewire::app
