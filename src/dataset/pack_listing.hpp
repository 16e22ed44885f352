// Which inputs are packed, under which names, and which are in shards already.
#pragma once

#include <batch/names.hpp>
#include <cstdint>
#include <dataset/pack_names.hpp>
#include <dataset/shard_output.hpp>
#include <framewire/batch.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <string>

namespace framewire::dataset {

/// What earlier batches have packed by the same pattern. Memory: about 100 bytes a picture.
struct EarlierPacks {
  batch::NameSet names;    ///< of members that are done
  batch::NameSet keys;     ///< of samples in shards
  std::uint64_t next = 0;  ///< number of the next shard
};

/// How earlier shards are looked at.
struct EarlierPackOptions {
  bool resume = false;        ///< otherwise there must be none
  bool retry_failed = false;  ///< rows that are not ok are not done
  std::string options_hash;   ///< that of all of them
};

/// Reads the manifests of a pattern's shards. Where a manifest's shard is not there, it counts as
/// not made.
/// @return invalid_input for shards that may not be gone on from: without resume, made with other
///         options, or without a manifest that fits; io_error
[[nodiscard]] Result<EarlierPacks> read_earlier_packs(const ShardPattern& pattern,
                                                      const OutputRoot& outputs,
                                                      const OutputRoot& manifests,
                                                      const EarlierPackOptions& options);

/// Goes through a source of files. Inputs that are not named like a JPEG, and that nobody has
/// named, are passed over. Memory: about 50 bytes an input. One thread.
class PackListing {
 public:
  /// @param earlier  lives as long as this
  PackListing(std::unique_ptr<batch::Source> inputs, KeyDots dots, const batch::Shard& part,
              const EarlierPacks& earlier)
      : inputs_(std::move(inputs)), dots_(dots), part_(part), earlier_(earlier) {}

  /// An input as its source gave it, and the name of its member.
  struct PackEntry {
    batch::Input input;  ///< with an error for a name without a key, and a key met before
    std::string member;
  };
  /// @return nothing at the end; what the source says
  [[nodiscard]] Result<std::optional<PackEntry>> next();

  [[nodiscard]] const batch::Source& inputs() const noexcept { return *inputs_; }
  /// How many inputs were passed over because a shard has them.
  [[nodiscard]] std::uint64_t unchanged() const noexcept { return unchanged_; }

 private:
  /// @param member  set to the member's name, if it has one
  [[nodiscard]] std::optional<Status> fault_of(const batch::Input& input, std::string& member);

  std::unique_ptr<batch::Source> inputs_;
  KeyDots dots_;
  batch::Shard part_;
  const EarlierPacks& earlier_;
  batch::NameSet keys_;
  std::uint64_t unchanged_ = 0;
};

}  // namespace framewire::dataset
