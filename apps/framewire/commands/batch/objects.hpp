// What framewire batch does with names that begin with s3://.
#pragma once

#include <atomic>
#include <command_line/command.hpp>
#include <command_line/store_options.hpp>
#include <framewire/batch.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <string>
#include <vector>

namespace framewire::app {

/// Checks names and options that do not go together with stores: of pictures, one prefix that is no
/// part of OUT_DIR, nor holds it; for OUT_DIR in a store, none of the options of folders.
/// @param inputs, output  as given; braces of shards expanded
/// @param shards          whether the inputs are tar shards
/// @return misuse()
[[nodiscard]] Result<void> check_objects(const Arguments& arguments,
                                         const std::vector<std::string>& inputs,
                                         const std::string& output, bool shards);

/// The pictures below a prefix. @param done  what the manifest says, or null
/// @param stop  ends a listing that finds none; or null
/// @return what opening the bucket says
[[nodiscard]] Result<std::unique_ptr<batch::Source>> open_objects(const std::string& url,
                                                                  const StoreChoice& stores,
                                                                  const batch::DoneIndex* done,
                                                                  const std::atomic<bool>* stop);
/// A prefix that outputs go to. @return what opening the bucket says
[[nodiscard]] Result<std::unique_ptr<batch::Sink>> open_object_outputs(const std::string& url,
                                                                       const StoreChoice& stores);

}  // namespace framewire::app
