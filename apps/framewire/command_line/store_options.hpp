// The options that say where object stores are and how they are spoken to.
#pragma once

#include <command_line/command.hpp>
#include <cstdint>
#include <dataset/store_set.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <store/object_store.hpp>
#include <string>
#include <vector>

namespace framewire::app {

inline constexpr OptionSpec kEndpointOption{
    "endpoint",
    "URL",
    "",
    "",
    "of the store of s3:// names, such as http://127.0.0.1:9000; if not given, as configured for "
    "the AWS tools, otherwise Amazon's",
    "Object stores"};
inline constexpr OptionSpec kRegionOption{
    "region",
    "NAME",
    "",
    "",
    "of the store; if not given, as configured for the AWS tools, otherwise us-east-1",
    "Object stores"};
inline constexpr OptionSpec kProfileOption{
    "profile",
    "NAME",
    "",
    "",
    "which credentials of the AWS tools' files to use; if not given, as they choose",
    "Object stores"};
inline constexpr OptionSpec kPathStyleOption{
    "path-style",
    "WHEN",
    "on|off",
    "",
    "buckets are named in the path, or in the host's name; if not given, in the path where there "
    "is an endpoint",
    "Object stores"};
inline constexpr OptionSpec kRangesOption{
    "ranges",       "N", "", "64", "requests to read that are on their way at once, 1 to 1024",
    "Object stores"};
inline constexpr OptionSpec kStoreMemoryOption{
    "store-memory",
    "BYTES",
    "",
    "1G",
    "bound on what is held of inputs in stores, with k, M or G, 64M at least; outputs on their way "
    "to stores may take as much again",
    "Object stores"};

/// How the command line says that stores are spoken to.
struct StoreChoice {
  store::StoreSettings settings;
  std::uint64_t memory_bytes = 1u << 30;
  std::shared_ptr<dataset::StoreSet> stores;
};
/// @return misuse()
[[nodiscard]] Result<StoreChoice> choose_stores(const Arguments& arguments);
/// Opens the store of the first of these names that lies in one, so that settings of the
/// environment that are wrong, and credentials that are missing, are told once and not by each
/// name.
/// @return what opening it says, about that name
[[nodiscard]] Result<void> check_stores(const StoreChoice& choice,
                                        const std::vector<std::string>& words);
/// Refuses those options where nothing is in a store. @return misuse()
[[nodiscard]] Result<void> refuse_store_options(const Arguments& arguments);

}  // namespace framewire::app
