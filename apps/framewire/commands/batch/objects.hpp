// What framewire batch does with names that are URLs.
#pragma once

#include <atomic>
#include <command_line/command.hpp>
#include <command_line/store_options.hpp>
#include <cstdint>
#include <dataset/sidecars.hpp>
#include <framewire/batch.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace framewire::app {

/// Checks names and options that do not go together with stores and web servers: of pictures in
/// stores, none that lies where outputs go; for OUT_DIR in a store, none of the options of folders.
/// @param inputs, output  as given; braces of shards expanded
/// @param shards          whether the inputs are tar shards
/// @return misuse()
[[nodiscard]] Result<void> check_objects(const Arguments& arguments,
                                         const std::vector<std::string>& inputs,
                                         const std::string& output, bool shards);

/// Whether pictures are named one by one: then each is read by the job that wants it.
[[nodiscard]] bool are_named_objects(const std::vector<std::string>& inputs);
/// The pictures below a prefix, or those that are named one by one, in stores and on web servers.
/// @param max_bytes  of one picture
/// @param wanted     whether an input will be opened, by its name: what will not is not read ahead
/// @param stop       ends a listing that finds none; or null
/// @return what name_object_shards() and opening the bucket say
[[nodiscard]] Result<std::unique_ptr<batch::Source>> open_objects(
    const std::vector<std::string>& inputs, const StoreChoice& stores, std::uint64_t max_bytes,
    std::function<bool(const std::string& name)> wanted, const std::atomic<bool>* stop);
/// How sidecars of such pictures are read, by their labels.
[[nodiscard]] std::function<Result<std::optional<dataset::Sidecar>>(const std::string&)>
object_sidecars(const StoreChoice& stores);
/// A prefix that outputs go to. @return what opening the bucket says
[[nodiscard]] Result<std::unique_ptr<batch::Sink>> open_object_outputs(const std::string& url,
                                                                       const StoreChoice& stores);

}  // namespace framewire::app
