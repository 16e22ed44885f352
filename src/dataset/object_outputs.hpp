// Output shards in an object store.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <dataset/shard_output.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <store/object_store.hpp>
#include <string>

namespace framewire::dataset {

/// Objects whose keys begin alike.
struct ObjectPrefix {
  std::shared_ptr<store::ObjectStore> store;
  std::string prefix;  ///< empty, or ends in '/'
};

/// S3's bound on keys.
inline constexpr std::size_t kMaxObjectKeyBytes = 1024;

/// Whether S3 takes the keys that a shard and its manifest would have.
/// @return invalid_input, about the shard
[[nodiscard]] Result<void> check_shard_keys(const ObjectPrefix& outputs,
                                            const ObjectPrefix& manifests, const std::string& name);

/// The ETag of what an upload has stored under a key; empty where the server gives none.
/// @return what the store says, which is asked where the upload's answer had none
[[nodiscard]] Result<std::string> etag_of_stored(store::ObjectStore& store, const std::string& key,
                                                 const store::ObjectUpload& upload);

/// Where outputs and manifests go.
struct ObjectOutputsOptions {
  ObjectPrefix outputs;
  ObjectPrefix manifests;
  /// How long another process that has just made the same output is given to commit it.
  std::chrono::milliseconds patience{2000};
  /// As RunOptions::stop: who resumes lists all of a prefix first.
  const std::atomic<bool>* stop = nullptr;
};

/// Uploads each shard in parts. commit() makes the output known, and then the manifest, which no
/// other process' has the name of: who comes second finds out, and leaves what is there.
///
/// A sample is kept in memory until it is whole, so that it can be taken back: up to
/// kMaxSampleBytes; of a larger one the beginning is sent, and if it then fails, the shard has.
[[nodiscard]] std::unique_ptr<ShardOutputs> open_object_outputs(ObjectOutputsOptions options);

inline constexpr std::size_t kMaxSampleBytes = 64u << 20;

}  // namespace framewire::dataset
