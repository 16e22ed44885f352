// What the manifests of a folder say together: what is done, what failed and why, what is missing.
#pragma once

#include <cstdint>
#include <dataset/braces.hpp>
#include <dataset/shard_record.hpp>
#include <dataset/store_set.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::dataset {

/// A row that is not ok.
struct FailedRow {
  std::string shard;
  std::string input;  ///< the picture's label
  std::string error_class;
  std::string message;
};

/// Sums, and the shards that are not as they should be, by name and in order.
struct DatasetReport {
  std::uint64_t shards = 0;  ///< with a manifest and an output
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t copied = 0;
  std::uint64_t samples = 0;
  std::uint64_t dropped = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  double seconds = 0;  ///< each shard's, added up
  /// Rows by class; "other" where rows name more than 64.
  std::map<std::string, std::uint64_t> errors;
  std::map<std::string, std::uint64_t> options;  ///< shards by options_hash; more than one is odd
  std::vector<ShardRecord> with_failures;        ///< failed > 0, or damaged
  std::vector<ShardRecord> without_output;       ///< a manifest, and no output of its size
  std::vector<std::string> unreadable;           ///< files like a manifest, without a record
  std::vector<std::string> missing;              ///< expected, and without a manifest
};

/// Where to look.
struct ReportOptions {
  std::string manifests;              ///< folder, or URL of a prefix; those below it count too
  std::string outputs;                ///< likewise, of the output shards
  std::shared_ptr<StoreSet> stores;   ///< null: folders alone
  std::vector<std::string> expected;  ///< names of shards; may be empty
  std::size_t max_manifests = kMaxExpandedNames;      ///< as many shards as a batch may have
  std::function<void(const FailedRow&)> on_failed{};  ///< called for each row that is not ok
  /// Called with each shard that counts and the path of its manifest.
  std::function<void(const std::string&, const std::string&)> on_manifest{};
  /// Called with each shard that counts and each line of its manifest, in order.
  std::function<void(const std::string&, std::string_view)> on_line{};
};

/// Reads the records of all manifests, and rows only of those that have failures, unless on_line is
/// given; of shards that were packed by one batch, from the first with failures on. A picture that
/// failed there, and that a later one of these shards has, counts as that.
/// @return io_error where a folder cannot be read; too_large for more than max_manifests; what a
/// store says
[[nodiscard]] Result<DatasetReport> make_report(const ReportOptions& options);

}  // namespace framewire::dataset
