// Which inputs are packed, under which names, and which are in shards already.
#pragma once

#include <batch/names.hpp>
#include <cstdint>
#include <dataset/pack_names.hpp>
#include <dataset/shard_record.hpp>
#include <framewire/batch.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::dataset {

/// What earlier batches have packed by the same pattern. Memory: about 100 bytes a picture.
struct EarlierPacks {
  batch::NameSet names;    ///< of members that are done
  batch::NameSet failed;   ///< those of them that have failed, and are in no shard
  batch::NameSet keys;     ///< of samples in shards
  std::uint64_t next = 0;  ///< number of the next shard
};

/// How earlier shards are looked at.
struct EarlierPackOptions {
  bool resume = false;        ///< otherwise there must be none
  bool retry_failed = false;  ///< rows that are not ok are not done
  std::string options_hash;   ///< that of all of them
};

/// Whether a batch may go on behind a shard that is there.
/// @param record  of its manifest, if that tells of it
/// @return invalid_input without resume, without a record, and for one with other options
[[nodiscard]] Result<void> check_earlier(const std::string& label,
                                         const std::optional<ShardRecord>& record,
                                         const EarlierPackOptions& options);
/// Adds a line of a manifest.
void add_earlier_row(std::string_view line, bool retry_failed, EarlierPacks& earlier);

/// Whether the listing hands out what has that name, as far as names tell.
[[nodiscard]] bool is_to_pack(const std::string& name, KeyDots dots, const batch::Shard& part,
                              const EarlierPacks& earlier);

/// Goes through a source of files or objects. Inputs that are not named like a JPEG, and that
/// nobody has named, are passed over. Memory: about 50 bytes an input. One thread.
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
  /// How many inputs were passed over because a manifest tells of them.
  [[nodiscard]] std::uint64_t unchanged() const noexcept { return unchanged_; }
  /// And how many of those since it says that they have failed.
  [[nodiscard]] std::uint64_t failed_before() const noexcept { return failed_before_; }

 private:
  /// @param member  set to the member's name, if it has one
  [[nodiscard]] std::optional<Status> fault_of(const batch::Input& input, std::string& member);

  std::unique_ptr<batch::Source> inputs_;
  KeyDots dots_;
  batch::Shard part_;
  const EarlierPacks& earlier_;
  batch::NameSet keys_;
  std::uint64_t unchanged_ = 0;
  std::uint64_t failed_before_ = 0;
};

}  // namespace framewire::dataset
