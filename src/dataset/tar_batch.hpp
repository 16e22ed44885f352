// A batch over tar shards: a source of their pictures, a sink and a manifest that put them back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <dataset/shard_names.hpp>
#include <dataset/shard_record.hpp>
#include <dataset/store_set.hpp>
#include <framewire/batch.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace framewire::dataset {

/// What a batch over shards does, besides what batch::Settings says.
struct TarBatchOptions {
  std::string outputs;    ///< folder of the output shards, or "s3://BUCKET/PREFIX/"
  std::string manifests;  ///< of their manifests, a folder where `outputs` is one
  ShardNaming naming = ShardNaming::kBelowFolder;  ///< of shards in files
  batch::Shard part;                               ///< of the shards, by their place in the list
  bool resume = false;                             ///< shards whose manifest fits are left alone
  bool retry_failed = false;  ///< with resume: unless the manifest tells of a failure
  FailedSamples failed_samples = FailedSamples::kDrop;
  std::optional<std::uint32_t> mode;  ///< of outputs, whatever the inputs'; nine bits
  std::string options_hash;
  unsigned in_work = 1;                      ///< shards whose pictures are handed out by turns
  std::uint64_t waiting_bytes = 256u << 20;  ///< of results that wait for their place, about
  const std::atomic<bool>* stop = nullptr;   ///< as RunOptions::stop
  std::shared_ptr<StoreSet> stores;          ///< null: files and folders alone
  /// Of shards that are read from stores; and about as much again for those on their way there.
  std::uint64_t store_bytes = 1u << 30;
  /// As ObjectOutputsOptions::patience.
  std::chrono::milliseconds patience{2000};
  /// Told of what the batch's own rows do not tell: a shard that could not be written, a member
  /// that could not be copied. One call at a time, from any thread.
  std::function<void(const Status&)> on_error;
  /// Told of each shard that this run has written, by its input's name in messages, with what came
  /// of its rows. Called as `on_error`.
  std::function<void(const std::string& input, const ShardRows&)> on_written;
};

/// Whether a row of the batch is that of a shard that could not be opened, and of no picture.
[[nodiscard]] bool is_row_of_shard(const batch::Row& row) noexcept;

/// What became of the shards.
struct ShardTotals {
  std::uint64_t written = 0;
  std::uint64_t unchanged = 0;  ///< done by an earlier run
  std::uint64_t elsewhere = 0;  ///< another process has them, or has made them meanwhile
  std::uint64_t failed = 0;     ///< could not be opened or written
  /// Of those: the shard was not at fault, but a store, a web server, or who makes pictures.
  /// Another try may succeed.
  std::uint64_t unreachable = 0;
  std::uint64_t damaged = 0;  ///< of those written: not read to their end
  std::uint64_t samples = 0;  ///< in those written
  std::uint64_t dropped = 0;  ///< samples that were left out of them
  std::uint64_t copy_errors = 0;
  /// By class: what no row tells, as TarBatchOptions::on_error, and shards that could not be
  /// opened.
  std::map<std::string, std::uint64_t> errors{};
};

/// Source, sink and manifest of one call of batch::run(), whose settings have no shard of their
/// own. Memory: waiting_bytes, and what is in work when they are reached; about 1 KB a member that
/// waits, up to twice kMaxListedBytes a shard; what store_bytes says.
class TarBatch {
 public:
  /// @param shards  paths, or URLs as name_object_shards() has them
  /// @return invalid_input for a shard that is named twice, for an output that would be an input,
  ///         for paths among URLs, and, without resume, for shards that have manifests already;
  ///         io_error; what the store says
  [[nodiscard]] static Result<std::unique_ptr<TarBatch>> open(
      const std::vector<std::string>& shards, const TarBatchOptions& options);
  TarBatch(const TarBatch&) = delete;
  TarBatch& operator=(const TarBatch&) = delete;
  ~TarBatch();

  [[nodiscard]] batch::Source& source() noexcept;
  [[nodiscard]] batch::Sink& sink() noexcept;
  [[nodiscard]] batch::Manifest& manifest() noexcept;
  /// So far. Any thread.
  [[nodiscard]] ShardTotals totals() const;
  /// How many there are, those of other parts included.
  [[nodiscard]] std::size_t shards() const noexcept;

 private:
  class State;
  explicit TarBatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace framewire::dataset
