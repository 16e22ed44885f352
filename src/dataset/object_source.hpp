// Pictures that are objects of a store, one each: where a batch gets them, and where it puts them.
#pragma once

#include <atomic>
#include <cstdint>
#include <dataset/object_outputs.hpp>
#include <framewire/batch.hpp>
#include <functional>
#include <memory>
#include <string>

namespace framewire::dataset {

/// How objects are read.
struct ObjectSourceOptions {
  unsigned reads_ahead = 64;               ///< objects that are on their way before they are opened
  std::uint64_t ahead_bytes = 256u << 20;  ///< of objects that are there before they are opened
  /// Whether what has that name will be opened: what will not is not read ahead. Null: all will.
  std::function<bool(const std::string& name)> wanted{};
  /// As RunOptions::stop: a listing may have any number of keys that are no pictures.
  const std::atomic<bool>* stop = nullptr;
};

/// For ObjectSourceOptions::wanted: what is of a part, and was not made before.
/// @param done  lives as long as what is returned; null: nothing was
[[nodiscard]] std::function<bool(const std::string& name)> not_made_before(
    const batch::Shard& part, const batch::DoneIndex* done);

/// Every object below a prefix, in the order of keys; what ends in '/' is passed over, as it stands
/// for a folder. Names are keys below the prefix, versions are ETags. Memory: a thousand names, and
/// what the options say, whatever the bucket holds.
[[nodiscard]] std::unique_ptr<batch::Source> open_object_source(ObjectPrefix where,
                                                                const ObjectSourceOptions& options);

/// Puts each output under its name below a prefix; what lies there is replaced. A commit waits for
/// the store. Who may read an output is the bucket's affair, not its input's.
[[nodiscard]] std::unique_ptr<batch::Sink> open_object_sink(ObjectPrefix where);

}  // namespace framewire::dataset
