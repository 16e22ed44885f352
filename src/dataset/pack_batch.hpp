// A batch that packs pictures into numbered tar shards.
#pragma once

#include <atomic>
#include <cstdint>
#include <dataset/pack_names.hpp>
#include <dataset/sidecars.hpp>
#include <dataset/store_set.hpp>
#include <framewire/batch.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace framewire::dataset {

/// How pictures are packed, besides what batch::Settings says.
struct PackOptions {
  ShardPattern pattern;
  std::string manifests;          ///< folder of the shards' manifests, or URL of a prefix
  std::uint64_t shard_bytes = 0;  ///< a shard ends before it would be larger, if it holds anything
  KeyDots dots = KeyDots::kKeep;
  std::vector<std::string> sidecars;  ///< extensions of files that travel with their picture
  batch::Shard part;                  ///< of the inputs, by their names
  bool resume = false;                ///< go on behind the last shard, with what is in none
  bool retry_failed = false;          ///< with resume: also with what has failed before
  std::optional<std::uint32_t> mode;  ///< of shards, whatever the inputs'; nine bits
  std::string options_hash;
  std::string input;                         ///< what manifests call all inputs together
  std::uint64_t waiting_bytes = 256u << 20;  ///< of results that wait for their place, about
  const std::atomic<bool>* stop = nullptr;   ///< as RunOptions::stop
  std::shared_ptr<StoreSet> stores{};        ///< null: folders alone
  /// Reads what travels with a picture. Any number of threads.
  /// @param label  the picture's own, with another extension
  std::function<Result<std::optional<Sidecar>>(const std::string& label)> read_sidecar =
      dataset::read_sidecar;
};

/// What has come of it.
struct PackTotals {
  std::uint64_t shards = 0;         ///< written
  std::uint64_t samples = 0;        ///< in them
  std::uint64_t sidecars = 0;       ///< in them
  std::uint64_t unchanged = 0;      ///< inputs of which manifests of earlier batches tell
  std::uint64_t failed_before = 0;  ///< of those: have failed, and are in no shard
  std::uint64_t put_off = 0;        ///< failed for no fault of their own: no shard tells of them
};

/// Source, sink and manifest of one call of batch::run(), whose settings have no shard of their
/// own. Samples are in the order in which their pictures are listed. A batch that ends early leaves
/// the shards that were full; what the last one held is packed again by a batch that resumes.
///
/// One process at a time packs by one pattern, where the file system has locks; in stores the
/// second is refused once it has a shard. Memory: waiting_bytes and what is in work when they are
/// reached, and that of PackListing and EarlierPacks.
class PackBatch {
 public:
  /// Opens the inputs, once it is known which of them are packed already.
  /// @param wanted  whether an input will be opened, by its name
  using OpenInputs = std::function<Result<std::unique_ptr<batch::Source>>(
      std::function<bool(const std::string& name)> wanted)>;
  /// @return what `inputs` says; what PackOutputs::read_earlier() says; busy where another process
  ///         packs by this pattern; io_error; denied for another user's link; invalid_input for
  ///         manifests that lie in a folder where shards lie in a store, and the other way round
  [[nodiscard]] static Result<std::unique_ptr<PackBatch>> open(const OpenInputs& inputs,
                                                               const PackOptions& options);
  PackBatch(const PackBatch&) = delete;
  PackBatch& operator=(const PackBatch&) = delete;
  ~PackBatch();

  [[nodiscard]] batch::Source& source() noexcept;
  [[nodiscard]] batch::Sink& sink() noexcept;
  [[nodiscard]] batch::Manifest& manifest() noexcept;
  /// Lists what source() lists, to count it. Lives no longer than this.
  /// @param inputs  a second copy
  [[nodiscard]] std::unique_ptr<batch::Source> count_ahead(
      std::unique_ptr<batch::Source> inputs) const;
  /// Shards written so far. Any thread.
  [[nodiscard]] std::uint64_t shards_written() const noexcept;
  /// Inputs of which manifests of earlier batches tell, as far as either listing has come. Any
  /// thread.
  [[nodiscard]] std::uint64_t passed_over() const noexcept;
  /// After the run.
  [[nodiscard]] PackTotals totals() const;

 private:
  class PackState;
  explicit PackBatch(std::unique_ptr<PackState> state);
  std::unique_ptr<PackState> state_;
};

}  // namespace framewire::dataset
