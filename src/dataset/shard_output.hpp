// One output shard and its manifest on their way: whole, or not at all.
#pragma once

#include <cstdint>
#include <dataset/shard_input.hpp>
#include <dataset/shard_record.hpp>
#include <framewire/batch/sink.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace framewire::dataset {

/// Takes a shard's bytes in order, and the rows of its manifest. Until commit() nothing is seen of
/// either. One thread.
class ShardOutput {
 public:
  ShardOutput() = default;
  ShardOutput(const ShardOutput&) = delete;
  ShardOutput& operator=(const ShardOutput&) = delete;
  /// Gives up what was not committed.
  virtual ~ShardOutput() = default;

  /// What the manifest says, if there is one that ends in a record, and the output is the one that
  /// it tells of.
  struct Earlier {
    ShardRecord record;
    bool meanwhile = false;  ///< made since this batch has opened its outputs
  };
  /// Called before anything else. @return any error
  [[nodiscard]] virtual Result<std::optional<Earlier>> earlier() = 0;

  /// What comes now can be taken back until the next call.
  virtual void begin_sample() = 0;
  /// Takes back what has come since begin_sample(). @return an error where that is not possible:
  /// the shard has failed
  [[nodiscard]] virtual batch::WriteResult drop_sample() = 0;

  [[nodiscard]] virtual batch::WriteResult append(std::span<const std::uint8_t> bytes) = 0;
  /// What came of copy().
  enum class Copied : std::uint8_t { kAll, kUnreadable };
  /// Appends bytes of an input. @param problem  set with kUnreadable: what was appended before is
  /// part of a member, to be taken back by drop_sample()
  [[nodiscard]] virtual tl::expected<Copied, batch::WriteError> copy(
      ShardInput& from, std::uint64_t begin, std::uint64_t end, std::optional<Status>& problem) = 0;

  /// Appends a line to the manifest.
  [[nodiscard]] virtual batch::WriteResult append_row(std::string_view line) = 0;

  /// What came of commit().
  enum class Committed : std::uint8_t {
    kWritten,
    kElsewhere,  ///< another process has made the same meanwhile, and what it made stays
  };
  /// Ends the archive, and makes both known, the manifest last.
  /// @param record  bytes_out, hash_out and version_out are filled in
  /// @param source  permissions of the input; null: anybody may read it
  [[nodiscard]] virtual tl::expected<Committed, batch::WriteError> commit(
      ShardRecord& record, const batch::Permissions* source) = 0;
};

/// Where shards and their manifests go. One thread.
class ShardOutputs {
 public:
  ShardOutputs() = default;
  ShardOutputs(const ShardOutputs&) = delete;
  ShardOutputs& operator=(const ShardOutputs&) = delete;
  virtual ~ShardOutputs() = default;

  /// What messages call the output of that name. Any thread.
  [[nodiscard]] virtual std::string label(const std::string& name) const = 0;

  /// @return what messages call the first manifest that any of these outputs has; nothing where
  ///         none has one. Any error
  [[nodiscard]] virtual Result<std::optional<std::string>> find_manifest(
      const std::vector<std::string>& names) = 0;

  /// Called once, before open(), where earlier batches have written here, and may have died doing
  /// so.
  /// @param names  those that will be opened
  [[nodiscard]] virtual Result<void> resume(const std::vector<std::string>& names) = 0;

  /// @param name  relative path
  /// @return null where another process has the shard; errors that concern its place, with
  ///         `environment` set for those that would meet every shard
  [[nodiscard]] virtual tl::expected<std::unique_ptr<ShardOutput>, batch::WriteError> open(
      const std::string& name) = 0;
};

}  // namespace framewire::dataset
